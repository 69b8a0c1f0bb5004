-- How a device shows that it is itself: `key` (it signs), `bearer` (a token for one address), `token`. The mark of a row
-- that is not `token` covers it.
ALTER TABLE devices ADD COLUMN identified_by TEXT NOT NULL DEFAULT 'token';

-- The process of a node, from its start to its end: what it let browsers sign counts only while it runs.
ALTER TABLE nodes ADD COLUMN start UUID;

-- What a passkey confirmed, by the SHA-256 of the challenge: used once, on any node. A row stays until it expires, so that its
-- challenge is answered once. `mac` as in 0007.
CREATE TABLE passkey_confirmations (
  challenge  BYTEA  PRIMARY KEY NOT NULL,
  device_id  UUID   NOT NULL,
  purpose    BYTEA  NOT NULL,
  passkey_id UUID   NOT NULL,
  expires_at BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  mac        BYTEA
);
CREATE INDEX passkey_confirmations_by_device ON passkey_confirmations (device_id, purpose);
CREATE INDEX passkey_confirmations_by_expiry ON passkey_confirmations (expires_at);
