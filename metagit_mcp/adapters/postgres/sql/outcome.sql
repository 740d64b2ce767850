SELECT pg_xact_status(%(transaction)s::text::xid8);
