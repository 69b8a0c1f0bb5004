-- Each round signs the list of the checkpoints that no round before it has, so that a session cannot go together with
-- all that was signed about it.
CREATE TABLE rounds (
  number    BIGINT NOT NULL PRIMARY KEY,
  at        BIGINT NOT NULL,
  count     BIGINT NOT NULL,
  -- What its checkpoints hash to, in the order of their sessions.
  list      BYTEA NOT NULL,
  previous  BYTEA NOT NULL,
  key       BYTEA NOT NULL,
  signature BYTEA NOT NULL
);

ALTER TABLE checkpoints ADD COLUMN round BIGINT;
CREATE INDEX checkpoints_by_round ON checkpoints (round, session_id, number);
