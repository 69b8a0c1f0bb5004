-- Only in a database that controls several: what it knows of the others. Empty where there is one.

-- The databases with sessions in them, as they are listed in the settings.
CREATE TABLE shard_databases (
  number BIGINT PRIMARY KEY NOT NULL,
  -- What that database calls itself, in its own table `keys`: its address may change.
  id     UUID   NOT NULL UNIQUE
);

-- Which of them has the sessions whose tags are in this range. The ranges leave none out.
CREATE TABLE shards (
  first     BIGINT PRIMARY KEY NOT NULL,
  last      BIGINT NOT NULL,
  database  BIGINT NOT NULL,
  -- Set while it is being moved there: nothing is written to it meanwhile.
  moving_to BIGINT
);

-- One row. Counted up with every change of the ranges, so that nodes find out cheaply.
CREATE TABLE shard_map (
  one     INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
  version BIGINT  NOT NULL
);
INSERT INTO shard_map (one, version) VALUES (1, 0);

-- Which version of it a node goes by.
ALTER TABLE nodes ADD COLUMN shard_map BIGINT NOT NULL DEFAULT 0;
