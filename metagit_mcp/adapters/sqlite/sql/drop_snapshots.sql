DELETE FROM snapshot WHERE position < (SELECT max(position) FROM snapshot);
