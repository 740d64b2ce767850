-- Held Events of which nothing says any more what they are.
SELECT count(*)
FROM metagit_mcp.inbox_held JOIN metagit_mcp.inbox_group ON number = group_number
WHERE stream = %(stream)s
  AND NOT EXISTS (
    SELECT 1 FROM metagit_mcp.inbox_entry
    WHERE inbox_entry.group_number = inbox_held.group_number AND inbox_entry.sequence = inbox_held.sequence
);
