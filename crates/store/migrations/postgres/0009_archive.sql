-- Sessions that a person put out of the way. Lists leave them out without reading them.
ALTER TABLE sessions ADD COLUMN archived_at BIGINT;
ALTER TABLE sessions ADD COLUMN archived_by TEXT;
CREATE INDEX sessions_unarchived ON sessions (owner, opened_at, id) WHERE listed AND archived_at IS NULL;
CREATE INDEX sessions_archived ON sessions (owner, opened_at, id) WHERE listed AND archived_at IS NOT NULL;
DROP INDEX sessions_by_state;
CREATE INDEX sessions_by_state ON sessions (owner, agent_state, opened_at, id) WHERE listed AND archived_at IS NULL;
