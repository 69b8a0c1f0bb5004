-- When an ask was settled or closed, for the list of decisions.
ALTER TABLE asks ADD COLUMN decided_at BIGINT;
CREATE INDEX asks_by_decision ON asks (owner, decided_at, id) WHERE decided_at IS NOT NULL;

-- What events are found by: a bounded text of each, and the words in it. Written with the event, and gone with its
-- session.
CREATE TABLE search (
  session_id     UUID   NOT NULL,
  seq            BIGINT NOT NULL,
  kind           TEXT   NOT NULL,
  owner          TEXT   NOT NULL,
  at             BIGINT NOT NULL,
  interaction_id UUID,
  text           TEXT   NOT NULL,
  -- With blanks between them. Two marks stand for the owner and the kind.
  words          TEXT   NOT NULL,
  PRIMARY KEY (session_id, seq)
);
CREATE INDEX search_by_words ON search USING gin (array_to_tsvector(string_to_array(words, ' ')));
-- For words that are everywhere: the newest are found without looking at the rest.
CREATE INDEX search_by_time ON search (owner, at, session_id, seq);
