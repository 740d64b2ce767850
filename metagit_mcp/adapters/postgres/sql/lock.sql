-- The transaction's id tells later what became of it. Its time is short from here on: who stands still holds up all
-- others, and the time-out of idle transactions does not run after a pipeline. Servers before 17 have no other.
SELECT pg_advisory_xact_lock(%(ours)s::integer, %(stream)s::integer), pg_current_xact_id()::text,
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL
            THEN set_config('transaction_timeout', %(most)s::text, true) END;
