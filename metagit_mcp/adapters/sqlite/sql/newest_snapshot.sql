SELECT workspace_id, position, version, body FROM snapshot ORDER BY position DESC LIMIT 1;
