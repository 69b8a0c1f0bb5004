-- What only a gateway with its key can have written. A row without it lets nobody in: one that somebody else put there, or
-- that was revoked.
ALTER TABLE people ADD COLUMN mac BLOB;
ALTER TABLE devices ADD COLUMN mac BLOB;
ALTER TABLE login_links ADD COLUMN mac BLOB;
ALTER TABLE tickets ADD COLUMN mac BLOB;
