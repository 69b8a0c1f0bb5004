-- The gateways on this database. One renews its row every two seconds; whoever finds one that was not seen for ten, by this
-- server's clock, and wants to take its place raises its epoch: from then on it is another one's turn to speak.
CREATE TABLE nodes (
  id      UUID   PRIMARY KEY NOT NULL,
  name    TEXT   NOT NULL,
  epoch   BIGINT NOT NULL,
  seen_at BIGINT NOT NULL,
  -- How many hints it has made: whoever heard fewer has missed some.
  hints   BIGINT NOT NULL
);

-- The machines that agents run on, and which node speaks for each of them.
CREATE TABLE runners (
  id         UUID   PRIMARY KEY NOT NULL,
  name       TEXT   NOT NULL,
  owner      TEXT   NOT NULL,
  -- Counted up with every connection.
  epoch      BIGINT NOT NULL,
  -- The process that is connected, or was last.
  instance   UUID   NOT NULL,
  -- Null while nobody speaks for it. It counts only while the node has this epoch.
  node       UUID,
  node_epoch BIGINT,
  seen_at    BIGINT NOT NULL,
  retired_at BIGINT
);
CREATE INDEX runners_by_node ON runners (node) WHERE node IS NOT NULL;

-- Which keys the gateways of this database have, so that one with another key does not start.
CREATE TABLE keys (
  name        TEXT  PRIMARY KEY NOT NULL,
  fingerprint BYTEA NOT NULL
);
