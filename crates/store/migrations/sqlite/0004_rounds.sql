-- Each round signs the list of the checkpoints that no round before it has, so that a session cannot go together with
-- all that was signed about it.
CREATE TABLE rounds (
  number    INTEGER NOT NULL PRIMARY KEY,
  at        INTEGER NOT NULL,
  count     INTEGER NOT NULL,
  -- What its checkpoints hash to, in the order of their sessions.
  list      BLOB NOT NULL,
  previous  BLOB NOT NULL,
  key       BLOB NOT NULL,
  signature BLOB NOT NULL
);

ALTER TABLE checkpoints ADD COLUMN round INTEGER;
CREATE INDEX checkpoints_by_round ON checkpoints (round, session_id, number);
