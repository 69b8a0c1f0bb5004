-- How a device shows that it is itself: `key` (it signs), `bearer` (a token for one address), `token`. The mark of a row
-- that is not `token` covers it.
ALTER TABLE devices ADD COLUMN identified_by TEXT NOT NULL DEFAULT 'token';

-- What a passkey confirmed, by the SHA-256 of the challenge: used once. A row stays until it expires, so that its challenge is
-- answered once. `mac` as in 0007.
CREATE TABLE passkey_confirmations (
  challenge  BLOB    PRIMARY KEY NOT NULL,
  device_id  BLOB    NOT NULL,
  purpose    BLOB    NOT NULL,
  passkey_id BLOB    NOT NULL,
  expires_at INTEGER NOT NULL,
  used       INTEGER NOT NULL,
  mac        BLOB
);
CREATE INDEX passkey_confirmations_by_device ON passkey_confirmations (device_id, purpose);
CREATE INDEX passkey_confirmations_by_expiry ON passkey_confirmations (expires_at);
