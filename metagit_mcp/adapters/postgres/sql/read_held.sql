-- Without `over_gaps` up to the first gap: there the sequence is no longer the place in the row.
SELECT sequence, event_key, digest, body
FROM (
    SELECT group_number, sequence, row_number() OVER (ORDER BY sequence) AS place, body
    FROM metagit_mcp.inbox_held
    WHERE group_number = (SELECT number FROM metagit_mcp.inbox_group WHERE stream = %(stream)s AND group_id = %(group_id)s)
      AND sequence > %(after)s
    ORDER BY sequence
    LIMIT %(limit)s
) AS held JOIN metagit_mcp.inbox_entry USING (group_number, sequence)
WHERE %(over_gaps)s OR sequence = %(after)s + place
ORDER BY sequence;
