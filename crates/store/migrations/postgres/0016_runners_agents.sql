-- What a runner's machine has, for nodes that do not speak for it. A runner is retired by taking back its token.
ALTER TABLE runners ADD COLUMN agents BYTEA NOT NULL DEFAULT '\x5b5d';
ALTER TABLE runners DROP COLUMN retired_at;
CREATE INDEX runners_by_owner ON runners (owner);
