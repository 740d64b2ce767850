-- The first and the last missing event of each gap.
SELECT former + 1, position - 1
FROM (
    SELECT position, lag(position, 1, 0::bigint) OVER (ORDER BY position) AS former
    FROM metagit_mcp.event WHERE stream = %(stream)s
) AS each
WHERE position > former + 1
ORDER BY position
LIMIT %(limit)s;
