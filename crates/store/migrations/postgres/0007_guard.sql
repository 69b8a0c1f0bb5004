-- What only a gateway with its key can have written. A row without it lets nobody in: one that somebody else put there, or
-- that was revoked.
ALTER TABLE people ADD COLUMN mac BYTEA;
ALTER TABLE devices ADD COLUMN mac BYTEA;
ALTER TABLE login_links ADD COLUMN mac BYTEA;
ALTER TABLE tickets ADD COLUMN mac BYTEA;
