SELECT (SELECT workspace_id FROM ledger), (SELECT max(position) FROM event), (SELECT min(position) FROM event);
