-- Of an event that was erased: what its data and salt hashed to. They are empty then, and the chain still holds.
ALTER TABLE events ADD COLUMN data_hash BYTEA;

-- Who erased a session, and when.
ALTER TABLE sessions ADD COLUMN erased_at BIGINT;
ALTER TABLE sessions ADD COLUMN erased_by TEXT;

-- What was signed about each journal, in order. The key that signs lies elsewhere, and so does a copy of each row.
CREATE TABLE checkpoints (
  session_id UUID    NOT NULL,
  number     BIGINT  NOT NULL,
  seq        BIGINT  NOT NULL,
  hash       BYTEA   NOT NULL,
  at         BIGINT  NOT NULL,
  previous   BYTEA   NOT NULL,
  -- Set if it says that the events up to here were erased.
  erased_by  TEXT,
  key        BYTEA   NOT NULL,
  signature  BYTEA   NOT NULL,
  PRIMARY KEY (session_id, number)
);
