-- Sessions by what their agent does: ended ones must not be read to find those that are open.
CREATE INDEX sessions_by_state ON sessions (owner, agent_state, opened_at, id) WHERE listed;
