-- The first and the last missing event of each gap.
SELECT former + 1, position - 1
FROM (SELECT position, lag(position, 1, 0) OVER (ORDER BY position) AS former FROM event)
WHERE position > former + 1
ORDER BY position
LIMIT ?;
