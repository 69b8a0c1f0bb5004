-- What one node does and no other meanwhile: calling a tool about an answer. A row is there only while it is done, and counts only
-- while its node has this epoch and lives.
CREATE TABLE claims (
  what       UUID   PRIMARY KEY NOT NULL,
  by         UUID   NOT NULL,
  node       UUID   NOT NULL,
  node_epoch BIGINT NOT NULL
);
