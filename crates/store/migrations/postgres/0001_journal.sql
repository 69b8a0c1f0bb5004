-- Times are microseconds since 1970, JSON is kept as the exact bytes that were hashed or written.

-- One row per journal: its head, and what its events fold to. This row is the only lock.
CREATE TABLE sessions (
  id            UUID    PRIMARY KEY NOT NULL,
  owner         TEXT    NOT NULL,
  agent         BYTEA    NOT NULL,
  title         BYTEA,
  last_seq      BIGINT NOT NULL,
  last_at       BIGINT NOT NULL,
  head_hash     BYTEA    NOT NULL,
  lease_epoch   BIGINT NOT NULL DEFAULT 0,
  state_version BIGINT NOT NULL,
  state         BYTEA    NOT NULL,
  agent_state   BYTEA    NOT NULL,
  opened        BYTEA    NOT NULL,
  opened_at     BIGINT NOT NULL,
  changed_at    BIGINT NOT NULL,
  -- False for an owner's own journal.
  listed        BOOLEAN NOT NULL,
  -- Somebody must look after it when a gateway starts.
  unfinished    BOOLEAN NOT NULL
-- Room on each page, so that a new state does not touch the indexes.
) WITH (fillfactor = 70);
CREATE INDEX sessions_by_owner ON sessions (owner, opened_at, id) WHERE listed;
CREATE INDEX sessions_unfinished ON sessions (id) WHERE unfinished;
-- Those of another version are folded again when a newer one starts.
CREATE INDEX sessions_by_version ON sessions (state_version);

CREATE TABLE events (
  session_id UUID    NOT NULL,
  seq        BIGINT NOT NULL,
  id         UUID    NOT NULL,
  at         BIGINT NOT NULL,
  type       TEXT    NOT NULL,
  data       BYTEA    NOT NULL,
  salt       BYTEA    NOT NULL,
  hash       BYTEA    NOT NULL,
  PRIMARY KEY (session_id, seq)
);

CREATE TABLE asks (
  id           UUID    PRIMARY KEY NOT NULL,
  session_id   UUID    NOT NULL,
  owner        TEXT    NOT NULL,
  live         BOOLEAN NOT NULL,
  opened_at    BIGINT NOT NULL,
  -- Null unless it closes by itself some day.
  due_at       BIGINT,
  request_seq  BIGINT NOT NULL,
  response_seq BIGINT,
  doc          BYTEA    NOT NULL
);
-- The partial ones keep the cost of the inbox and of the timers to what is open. `live` is no column of theirs, as it
-- is in SQLite: PostgreSQL drops the condition that the index implies, and would then read from the first open ask on
-- instead of from the cursor.
CREATE INDEX asks_live ON asks (owner, opened_at, id) WHERE live = TRUE;
CREATE INDEX asks_live_in_session ON asks (session_id, opened_at, id) WHERE live = TRUE;
CREATE INDEX asks_due ON asks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX asks_by_owner ON asks (owner, opened_at, id);
CREATE INDEX asks_by_session ON asks (session_id, opened_at, id);

-- Facts of a person. Only the SHA-256 of a secret is kept.
CREATE TABLE tokens (
  hash       BYTEA   PRIMARY KEY NOT NULL,
  owner      TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  session_id UUID,
  created_at BIGINT NOT NULL,
  expires_at BIGINT,
  revoked_at BIGINT
);
CREATE TABLE login_links (
  hash       BYTEA   PRIMARY KEY NOT NULL,
  owner      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  expires_at BIGINT NOT NULL,
  used_at    BIGINT
);
