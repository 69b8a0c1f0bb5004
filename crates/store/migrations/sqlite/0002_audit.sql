-- Of an event that was erased: what its data and salt hashed to. They are empty then, and the chain still holds.
ALTER TABLE events ADD COLUMN data_hash BLOB;

-- Who erased a session, and when.
ALTER TABLE sessions ADD COLUMN erased_at INTEGER;
ALTER TABLE sessions ADD COLUMN erased_by TEXT;

-- What was signed about each journal, in order. The key that signs lies elsewhere, and so does a copy of each row.
CREATE TABLE checkpoints (
  session_id BLOB    NOT NULL,
  number     INTEGER NOT NULL,
  seq        INTEGER NOT NULL,
  hash       BLOB    NOT NULL,
  at         INTEGER NOT NULL,
  previous   BLOB    NOT NULL,
  -- Set if it says that the events up to here were erased.
  erased_by  TEXT,
  key        BLOB    NOT NULL,
  signature  BLOB    NOT NULL,
  PRIMARY KEY (session_id, number)
);
