-- What somebody has to go on with, though no person is asked any more: `submitted`, `undelivered`, or nothing. Few asks of
-- a session are, however many it has.
ALTER TABLE asks ADD COLUMN under_way TEXT;
CREATE INDEX asks_under_way ON asks (session_id, under_way, opened_at, id) WHERE under_way IS NOT NULL;
