-- Secret answers on their way to the one who asked, sealed with a key that lies elsewhere. A row goes when its answer
-- has arrived, can no longer arrive, or never won.
CREATE TABLE secrets (
  -- Names one answer to one prompt: it is computed from what the journal keeps of it.
  answer         TEXT   PRIMARY KEY NOT NULL,
  session_id     UUID   NOT NULL,
  interaction_id UUID   NOT NULL,
  prompt_id      UUID   NOT NULL,
  sealed         BYTEA  NOT NULL,
  at             BIGINT NOT NULL
);
CREATE INDEX secrets_by_ask ON secrets (interaction_id);
