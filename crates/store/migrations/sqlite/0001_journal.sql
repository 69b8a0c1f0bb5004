-- Ids are 16 bytes, times are microseconds since 1970, JSON is kept as the exact bytes that were hashed or written.

-- One row per journal: its head, and what its events fold to. This row is the only lock.
CREATE TABLE sessions (
  id            BLOB    PRIMARY KEY NOT NULL,
  owner         TEXT    NOT NULL,
  agent         BLOB    NOT NULL,
  title         BLOB,
  last_seq      INTEGER NOT NULL,
  last_at       INTEGER NOT NULL,
  head_hash     BLOB    NOT NULL,
  lease_epoch   INTEGER NOT NULL DEFAULT 0,
  state_version INTEGER NOT NULL,
  state         BLOB    NOT NULL,
  agent_state   BLOB    NOT NULL,
  opened        BLOB    NOT NULL,
  opened_at     INTEGER NOT NULL,
  changed_at    INTEGER NOT NULL,
  -- False for an owner's own journal.
  listed        BOOLEAN NOT NULL,
  -- Somebody must look after it when a gateway starts.
  unfinished    BOOLEAN NOT NULL
);
CREATE INDEX sessions_by_owner ON sessions (owner, opened_at, id) WHERE listed;
CREATE INDEX sessions_unfinished ON sessions (id) WHERE unfinished;
-- Those of another version are folded again when a newer one starts.
CREATE INDEX sessions_by_version ON sessions (state_version);

CREATE TABLE events (
  session_id BLOB    NOT NULL,
  seq        INTEGER NOT NULL,
  id         BLOB    NOT NULL,
  at         INTEGER NOT NULL,
  type       TEXT    NOT NULL,
  data       BLOB    NOT NULL,
  salt       BLOB    NOT NULL,
  hash       BLOB    NOT NULL,
  PRIMARY KEY (session_id, seq)
);

CREATE TABLE asks (
  id           BLOB    PRIMARY KEY NOT NULL,
  session_id   BLOB    NOT NULL,
  owner        TEXT    NOT NULL,
  live         BOOLEAN NOT NULL,
  opened_at    INTEGER NOT NULL,
  -- Null unless it closes by itself some day.
  due_at       INTEGER,
  request_seq  INTEGER NOT NULL,
  response_seq INTEGER,
  doc          BLOB    NOT NULL
);
-- The partial ones keep the cost of the inbox and of the timers to what is open. In two of them `live` is a column
-- too, though it is always the same: SQLite takes them for more selective than the indexes of all asks by that.
CREATE INDEX asks_live ON asks (owner, live, opened_at, id) WHERE live = TRUE;
CREATE INDEX asks_live_in_session ON asks (session_id, live, opened_at, id) WHERE live = TRUE;
CREATE INDEX asks_due ON asks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX asks_by_owner ON asks (owner, opened_at, id);
CREATE INDEX asks_by_session ON asks (session_id, opened_at, id);

-- Facts of a person. Only the SHA-256 of a secret is kept.
CREATE TABLE tokens (
  hash       BLOB    PRIMARY KEY NOT NULL,
  owner      TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  session_id BLOB,
  created_at INTEGER NOT NULL,
  expires_at INTEGER,
  revoked_at INTEGER
);
CREATE TABLE login_links (
  hash       BLOB    PRIMARY KEY NOT NULL,
  owner      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER
);
