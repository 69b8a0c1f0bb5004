-- What confirms a marked approval, where a person asked for that: public keys, each for one site. `mac` as in 0007.
CREATE TABLE passkeys (
  id           UUID PRIMARY KEY NOT NULL,
  person_id    UUID NOT NULL,
  credential   BYTEA NOT NULL,
  public_key   BYTEA NOT NULL,
  site         TEXT NOT NULL,
  name         TEXT NOT NULL,
  -- How often it says that it was used; 0 for those that do not count.
  count        BIGINT NOT NULL,
  created_at   BIGINT NOT NULL,
  last_used_at BIGINT,
  mac          BYTEA
);
CREATE INDEX passkeys_by_person ON passkeys (person_id);

-- 1: a passkey has to confirm. The mark of such a row covers it.
ALTER TABLE people ADD COLUMN passkey_required BIGINT NOT NULL DEFAULT 0;
