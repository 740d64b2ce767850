DELETE FROM metagit_mcp.inbox_held
WHERE group_number = (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s)
  AND sequence <= %(up_to)s;
