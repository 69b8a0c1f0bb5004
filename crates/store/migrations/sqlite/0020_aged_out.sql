-- Where what was said in a session is now: it went to a file, and can come back from it.
ALTER TABLE sessions ADD COLUMN aged_out_to TEXT;
