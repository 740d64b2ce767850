-- Held Events of which nothing says any more what they are.
SELECT count(*) FROM inbox_held
WHERE NOT EXISTS (
    SELECT 1 FROM inbox_entry
    WHERE inbox_entry.group_number = inbox_held.group_number AND inbox_entry.sequence = inbox_held.sequence
);
