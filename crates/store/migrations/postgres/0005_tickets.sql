-- Tickets, each of which opens one socket: a browser can send no header with that. Only the SHA-256 of a ticket is kept.
CREATE TABLE tickets (
  hash       BYTEA   PRIMARY KEY NOT NULL,
  -- The token it stands for, by its hash.
  token      BYTEA   NOT NULL,
  expires_at BIGINT  NOT NULL
);
CREATE INDEX tickets_by_expiry ON tickets (expires_at);
