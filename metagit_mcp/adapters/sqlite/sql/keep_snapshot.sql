-- Nothing where it is of another ledger, a newer one is kept, or the ledger does not go as far.
INSERT OR REPLACE INTO snapshot (workspace_id, position, version, body)
SELECT :workspace_id, :position, :version, :body
WHERE :workspace_id = (SELECT workspace_id FROM ledger)
  AND NOT EXISTS (SELECT 1 FROM snapshot WHERE position > :position)
  AND :position <= (SELECT max(position) FROM event);
