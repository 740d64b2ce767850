-- The keys come as one run of bytes: 1,000 look-ups are then one statement.
WITH RECURSIVE place (number) AS (SELECT 0 UNION ALL SELECT number + 1 FROM place WHERE number + 1 < :count)
SELECT sequence, event_key, digest FROM place CROSS JOIN inbox_entry
WHERE group_number = (SELECT number FROM inbox_group WHERE group_id = :group_id)
  AND event_key = substr(:keys, number * :width + 1, :width);
