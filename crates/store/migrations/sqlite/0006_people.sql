-- People and their devices. A person belongs to one owner and has a role; each device has a token of its own, of which
-- only the SHA-256 is kept. Programs and hosted agents are here too, with the roles `agent` and `runner`.
CREATE TABLE people (
  id         BLOB    PRIMARY KEY NOT NULL,
  owner      TEXT    NOT NULL,
  name       TEXT    NOT NULL,
  -- What nobody else of this owner has, also after they were removed: the name in lower case. A hosted agent has one
  -- that nobody can be given, so that it takes no person's name away.
  handle     TEXT    NOT NULL,
  role       TEXT    NOT NULL,
  created_at INTEGER NOT NULL,
  removed_at INTEGER
);
CREATE UNIQUE INDEX people_by_handle ON people (owner, handle);

CREATE TABLE devices (
  id           BLOB    PRIMARY KEY NOT NULL,
  person_id    BLOB    NOT NULL,
  hash         BLOB    NOT NULL,
  kind         TEXT    NOT NULL,
  name         TEXT    NOT NULL,
  -- The one session that an agent's token is good for.
  session_id   BLOB,
  created_at   INTEGER NOT NULL,
  last_used_at INTEGER,
  expires_at   INTEGER,
  revoked_at   INTEGER,
  -- The revision of the last change that its open connections must hear of.
  changed      INTEGER NOT NULL
);
CREATE UNIQUE INDEX devices_by_hash ON devices (hash);
CREATE INDEX devices_by_person ON devices (person_id) WHERE revoked_at IS NULL;
CREATE INDEX devices_by_change ON devices (changed);

-- One row. Counted up with every such change, so that a gateway finds out cheaply what was changed beside it.
CREATE TABLE access (
  one      INTEGER PRIMARY KEY NOT NULL CHECK (one = 1),
  revision INTEGER NOT NULL
);
INSERT INTO access (one, revision) VALUES (1, 0);

-- Tokens of one name and role were one person's. Where people, programs and agents shared a name, the first keeps its
-- handle; the others keep their names, and get a handle that nobody else can have.
INSERT INTO people (id, owner, name, handle, role, created_at)
SELECT randomblob(16), owner, name,
       handle || CASE place WHEN 1 THEN '' ELSE char(10) || place END, role, created_at
FROM (
  SELECT owner, name, role, handle, created_at, row_number() OVER (
    PARTITION BY owner, handle
    ORDER BY CASE role WHEN 'person' THEN 1 WHEN 'admin' THEN 2 WHEN 'viewer' THEN 3 ELSE 4 END, created_at, name
  ) AS place
  FROM (
    SELECT owner, name, role, min(created_at) AS created_at,
           CASE WHEN role = 'agent' AND session_id IS NOT NULL THEN 'hosted' || char(10) ELSE '' END || lower(name) AS handle
    FROM tokens GROUP BY owner, name, role, role = 'agent' AND session_id IS NOT NULL
  )
);

-- Browsers used to keep their token in a cookie, which every server on the same host was sent: those are revoked.
INSERT INTO devices (id, person_id, hash, kind, name, session_id, created_at, expires_at, revoked_at, changed)
SELECT randomblob(16), p.id, t.hash,
       CASE WHEN t.was_browser THEN 'browser' ELSE 'token' END,
       CASE WHEN t.was_browser THEN 'Browser' ELSE 'Token' END,
       t.session_id, t.created_at, t.expires_at,
       CASE WHEN t.was_browser AND t.expires_at IS NULL THEN coalesce(t.revoked_at, unixepoch() * 1000000)
            ELSE t.revoked_at END,
       0
FROM (
  SELECT t.*, EXISTS (
    SELECT 1 FROM login_links l WHERE l.owner = t.owner AND l.name = t.name AND t.role = 'person'
      AND t.created_at BETWEEN l.used_at AND l.used_at + 2000000
  ) AS was_browser
  FROM tokens t
) AS t
JOIN people p ON p.owner = t.owner AND p.name = t.name AND p.role = t.role
  AND (p.handle LIKE 'hosted' || char(10) || '%') = (t.role = 'agent' AND t.session_id IS NOT NULL);
DROP TABLE tokens;

-- They lived for ten minutes.
DROP TABLE login_links;
CREATE TABLE login_links (
  hash       BLOB    PRIMARY KEY NOT NULL,
  person_id  BLOB    NOT NULL,
  expires_at INTEGER NOT NULL,
  used_at    INTEGER
);
