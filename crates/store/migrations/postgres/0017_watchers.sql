-- Who watches on which node, so that all of them count alike. Written again by its node whenever that changes.
CREATE TABLE watchers (
  node       UUID    NOT NULL,
  node_epoch BIGINT  NOT NULL,
  owner      TEXT    NOT NULL,
  -- A client, by the name it gave itself among those of its person.
  person     TEXT    NOT NULL,
  client     TEXT    NOT NULL,
  -- Null: all sessions of the owner.
  session    UUID,
  -- Whether it would answer.
  is_on      BOOLEAN NOT NULL
);
CREATE INDEX watchers_by_node ON watchers (node);

-- Counted up when a node's watchers are written again: whoever has seen this number need not read them.
ALTER TABLE nodes ADD COLUMN watchers BIGINT NOT NULL DEFAULT 0;
