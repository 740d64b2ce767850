INSERT INTO ledger (workspace_id) VALUES (?);
