-- `synchronous_commit`: what is acknowledged is durable, whatever the database is set to; stronger settings stay.
SELECT set_config('lock_timeout', %(lock)s::text, false),
       set_config('idle_in_transaction_session_timeout', %(idle)s::text, false),
       set_config('tcp_keepalives_idle', '10', false),
       set_config('tcp_keepalives_interval', '5', false),
       set_config('tcp_keepalives_count', '3', false),
       CASE WHEN current_setting('synchronous_commit') = 'off' THEN set_config('synchronous_commit', 'on', false) END;
