-- Whoever adds a row adds its words, too. As a trigger it made each row a statement of several writes, before which the
-- index puts all that it holds into the file: one part of it for every row, to be merged again.
DROP TRIGGER search_added;
