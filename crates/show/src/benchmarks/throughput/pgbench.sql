-- One cycle: three transactions with the rows, the indexes and the bytes of ask, answer and fetch, each in one round trip.
\set asked :answered + 2
\set answered :asked + 1
\set fetched :asked + 2
WITH event AS (
  INSERT INTO events (session_id, seq, id, at, type, data, salt, hash)
  VALUES (lpad(to_hex(:client_id::bigint), 32, '0')::uuid, :asked, gen_random_uuid(), :asked, 'interaction_request',
          :request, :salt, :hash)
), ask AS (
  INSERT INTO asks (id, session_id, owner, live, opened_at, request_seq, doc)
  VALUES ((lpad(to_hex(:client_id::bigint), 16, '0') || lpad(to_hex(:asked::bigint), 16, '0'))::uuid,
          lpad(to_hex(:client_id::bigint), 32, '0')::uuid, 'everybody', TRUE, :asked, :asked, :ask)
), found AS (
  INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words)
  VALUES (lpad(to_hex(:client_id::bigint), 32, '0')::uuid, :asked, :asked_kind, 'everybody', :asked,
          (lpad(to_hex(:client_id::bigint), 16, '0') || lpad(to_hex(:asked::bigint), 16, '0'))::uuid,
          :asked_text, :asked_words)
)
UPDATE sessions SET last_seq = :asked, last_at = :asked, changed_at = :asked, head_hash = :hash, state = :head
  WHERE id = lpad(to_hex(:client_id::bigint), 32, '0')::uuid;
WITH event AS (
  INSERT INTO events (session_id, seq, id, at, type, data, salt, hash)
  VALUES (lpad(to_hex(:client_id::bigint), 32, '0')::uuid, :answered, gen_random_uuid(), :asked,
          'interaction_response', :response, :salt, :hash)
), ask AS (
  UPDATE asks SET live = FALSE, response_seq = :answered, decided_at = :answered, doc = :ask
  WHERE id = (lpad(to_hex(:client_id::bigint), 16, '0') || lpad(to_hex(:asked::bigint), 16, '0'))::uuid
), found AS (
  INSERT INTO search (session_id, seq, kind, owner, at, interaction_id, text, words)
  VALUES (lpad(to_hex(:client_id::bigint), 32, '0')::uuid, :answered, :answered_kind, 'everybody', :asked,
          (lpad(to_hex(:client_id::bigint), 16, '0') || lpad(to_hex(:asked::bigint), 16, '0'))::uuid,
          :answered_text, :answered_words)
)
UPDATE sessions SET last_seq = :answered, last_at = :asked, changed_at = :asked, head_hash = :hash, state = :head
  WHERE id = lpad(to_hex(:client_id::bigint), 32, '0')::uuid;
WITH event AS (
  INSERT INTO events (session_id, seq, id, at, type, data, salt, hash)
  VALUES (lpad(to_hex(:client_id::bigint), 32, '0')::uuid, :fetched, gen_random_uuid(), :asked, 'interaction_update',
          :update, :salt, :hash)
), ask AS (
  UPDATE asks SET doc = :ask
  WHERE id = (lpad(to_hex(:client_id::bigint), 16, '0') || lpad(to_hex(:asked::bigint), 16, '0'))::uuid
)
UPDATE sessions SET last_seq = :fetched, last_at = :asked, changed_at = :asked, head_hash = :hash, state = :head
  WHERE id = lpad(to_hex(:client_id::bigint), 32, '0')::uuid;
