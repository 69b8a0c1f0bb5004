-- When an ask was settled or closed, for the list of decisions.
ALTER TABLE asks ADD COLUMN decided_at INTEGER;
CREATE INDEX asks_by_decision ON asks (owner, decided_at, id) WHERE decided_at IS NOT NULL;

-- What events are found by: a bounded text of each, and the words in it. Written with the event, and gone with its
-- session.
CREATE TABLE search (
  -- Grows with time, so that the newest are found first without sorting.
  id             INTEGER PRIMARY KEY NOT NULL,
  session_id     BLOB    NOT NULL,
  seq            INTEGER NOT NULL,
  kind           TEXT    NOT NULL,
  owner          TEXT    NOT NULL,
  at             INTEGER NOT NULL,
  interaction_id BLOB,
  text           TEXT    NOT NULL,
  -- With blanks between them. Two marks stand for the owner and the kind.
  words          TEXT    NOT NULL
);
CREATE UNIQUE INDEX search_by_session ON search (session_id, seq);
CREATE VIRTUAL TABLE search_words USING fts5 (
  words, content = 'search', content_rowid = 'id', tokenize = "ascii tokenchars '_'", detail = none, columnsize = 0
);
-- What is erased does not stay in the index as a word that nothing points to.
INSERT INTO search_words (search_words, rank) VALUES ('secure-delete', 1);
-- The words that there are: to look for those that begin so is faster than to look for a beginning.
CREATE VIRTUAL TABLE search_vocabulary USING fts5vocab (search_words, row);
CREATE TRIGGER search_added AFTER INSERT ON search BEGIN
  INSERT INTO search_words (rowid, words) VALUES (new.id, new.words);
END;
CREATE TRIGGER search_dropped AFTER DELETE ON search BEGIN
  INSERT INTO search_words (search_words, rowid, words) VALUES ('delete', old.id, old.words);
END;
