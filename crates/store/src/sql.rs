//! The queries that both databases run. Each has an index that makes its cost follow what it returns.

use holdstead_protocol::{Seq, SessionId, Timestamp};
use uuid::Uuid;

use crate::db::Param;
use crate::{decode, waiting};

/// Shows that the database answers.
pub(crate) const READY: &str = "SELECT 1";

/// Nothing is left to be read of an erased session, even while its events are being emptied.
pub(crate) const READ: &str = "SELECT seq, id, at, type, data, hash FROM events \
    WHERE session_id = $1 AND seq > $2 AND data_hash IS NULL \
    AND NOT EXISTS (SELECT 1 FROM sessions WHERE id = $1 AND erased_at IS NOT NULL) ORDER BY seq LIMIT $3";

/// The events behind this one, so many at most.
pub(crate) fn page(session: SessionId, after: Seq, limit: u32) -> Vec<Param> {
    vec![Param::Id(session.uuid()), Param::Int(decode::number(after)), Param::Int(limit.into())]
}

/// With what the chain is computed from.
pub(crate) const READ_CHAIN: &str = "SELECT seq, id, at, type, data, salt, hash, data_hash FROM events \
    WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";

/// Sessions whose state an older version folded.
pub(crate) const OUTDATED: &str = "SELECT id FROM sessions WHERE state_version < $1 LIMIT $2";
pub(crate) const NEWER: &str = "SELECT id, state_version FROM sessions WHERE state_version > $1 LIMIT 1";
pub(crate) const REPLACE_HEAD: &str = "UPDATE sessions SET last_seq = $2, last_at = $3, changed_at = $3, \
    state_version = $4, state = $5, agent_state = $6, unfinished = $7, title = $8, archived_at = $9, \
    archived_by = $10 WHERE id = $1";
pub(crate) const DROP_ASKS: &str = "DELETE FROM asks WHERE session_id = $1";
pub(crate) const ADD_ASK: &str = "INSERT INTO asks (id, session_id, owner, live, opened_at, due_at, request_seq, \
    response_seq, decided_at, under_way, doc) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)";
pub(crate) const DROP_FOUND: &str = "DELETE FROM search WHERE session_id = $1";

macro_rules! sessions {
    ($($rest:literal),+) => {
        concat!(
            "SELECT id, id AS session_id, last_seq, last_at, head_hash, state_version, state, opened, opened_at, changed_at, \
             unfinished, erased_at, erased_by, aged_out_to, archived_at, archived_by \
             FROM sessions ",
            $($rest),+
        )
    };
}

pub(crate) const SESSION: &str = sessions!("WHERE id = $1");
pub(crate) const SESSIONS: &str = sessions!(
    "WHERE owner = $1 AND listed AND (opened_at, id) < ($2, $3) ORDER BY opened_at DESC, id DESC LIMIT $4"
);
pub(crate) const UNARCHIVED_SESSIONS: &str = sessions!(
    "WHERE owner = $1 AND listed AND archived_at IS NULL AND (opened_at, id) < ($2, $3) \
     ORDER BY opened_at DESC, id DESC LIMIT $4"
);
pub(crate) const ARCHIVED_SESSIONS: &str = sessions!(
    "WHERE owner = $1 AND listed AND archived_at IS NOT NULL AND (opened_at, id) < ($2, $3) \
     ORDER BY opened_at DESC, id DESC LIMIT $4"
);
macro_rules! sessions_in_state {
    ($state:literal, $limit:literal) => {
        sessions!(
            "WHERE owner = $1 AND listed AND archived_at IS NULL AND (opened_at, id) < ($2, $3) AND agent_state = ",
            $state,
            " ORDER BY opened_at DESC, id DESC LIMIT ",
            $limit
        )
    };
}
/// A page of each state, so that what is found costs what is found, however many there are of the others. One statement,
/// so that a session which goes from one state to another meanwhile is there once.
pub(crate) const SESSIONS_IN_STATES: &str = concat!(
    "SELECT * FROM (",
    sessions_in_state!("$4", "$10"),
    ") AS a UNION ALL SELECT * FROM (",
    sessions_in_state!("$5", "$10"),
    ") AS b UNION ALL SELECT * FROM (",
    sessions_in_state!("$6", "$10"),
    ") AS c UNION ALL SELECT * FROM (",
    sessions_in_state!("$7", "$10"),
    ") AS d UNION ALL SELECT * FROM (",
    sessions_in_state!("$8", "$10"),
    ") AS e UNION ALL SELECT * FROM (",
    sessions_in_state!("$9", "$10"),
    ") AS f ORDER BY opened_at DESC, id DESC LIMIT $10"
);
/// How many states it asks for.
pub(crate) const STATES: usize = 6;
pub(crate) const UNFINISHED: &str = sessions!("WHERE unfinished AND id > $1 ORDER BY id LIMIT $2");

macro_rules! asks {
    ($rest:literal) => {
        asks!("", $rest)
    };
    ($more:literal, $rest:literal) => {
        concat!(
            "SELECT a.id, a.session_id, a.owner, a.opened_at, a.doc, q.data AS request, r.data AS response, \
             s.title, s.agent, s.agent_state, s.state_version",
            $more,
            " FROM asks a \
             JOIN events q ON q.session_id = a.session_id AND q.seq = a.request_seq \
             LEFT JOIN events r ON r.session_id = a.session_id AND r.seq = a.response_seq \
             JOIN sessions s ON s.id = a.session_id AND s.erased_at IS NULL ",
            $rest
        )
    };
}

pub(crate) const ASK: &str = asks!("WHERE a.id = $1");
pub(crate) const LIVE_ASKS: &str = asks!(
    "WHERE a.owner = $1 AND a.live = TRUE AND (a.opened_at, a.id) > ($2, $3) ORDER BY a.opened_at, a.id LIMIT $4"
);
pub(crate) const ALL_ASKS: &str =
    asks!("WHERE a.owner = $1 AND (a.opened_at, a.id) > ($2, $3) ORDER BY a.opened_at, a.id LIMIT $4");
pub(crate) const LIVE_ASKS_IN_SESSION: &str = asks!(
    "WHERE a.session_id = $1 AND a.live = TRUE AND (a.opened_at, a.id) > ($2, $3) ORDER BY a.opened_at, a.id LIMIT $4"
);
pub(crate) const ALL_ASKS_IN_SESSION: &str =
    asks!("WHERE a.session_id = $1 AND (a.opened_at, a.id) > ($2, $3) ORDER BY a.opened_at, a.id LIMIT $4");
pub(crate) const UNDER_WAY: &str = asks!(
    "WHERE a.session_id = $1 AND a.under_way = $2 AND (a.opened_at, a.id) > ($3, $4) \
     ORDER BY a.opened_at, a.id LIMIT $5"
);

pub(crate) const DECISIONS: &str = asks!(
    ", s.opened, a.decided_at",
    "WHERE a.owner = $1 AND a.decided_at IS NOT NULL AND (a.decided_at, a.id) < ($2, $3) \
     ORDER BY a.decided_at DESC, a.id DESC LIMIT $4"
);
pub(crate) const DECISION: &str =
    asks!(", s.opened, a.decided_at", "WHERE a.id = $1 AND a.owner = $2 AND a.decided_at IS NOT NULL");

pub(crate) const LIVE_COUNT: &str = "SELECT count(*) AS n FROM asks WHERE owner = $1 AND live = TRUE";
pub(crate) const DUE: &str = "SELECT a.id, a.session_id, a.doc, s.state_version FROM asks a \
    JOIN sessions s ON s.id = a.session_id WHERE a.due_at <= $1 ORDER BY a.due_at LIMIT $2";
macro_rules! newer {
    ($what:literal, $first:literal, $second:literal, $third:literal, $fourth:literal, $all:literal) => {
        concat!(
            "count(CASE WHEN ",
            $what,
            " AND opened_at > $1 THEN 1 END) AS ",
            $first,
            ", count(CASE WHEN ",
            $what,
            " AND opened_at > $2 THEN 1 END) AS ",
            $second,
            ", count(CASE WHEN ",
            $what,
            " AND opened_at > $3 THEN 1 END) AS ",
            $third,
            ", count(CASE WHEN ",
            $what,
            " AND opened_at > $4 THEN 1 END) AS ",
            $fourth,
            ", count(CASE WHEN ",
            $what,
            " THEN 1 END) AS ",
            $all
        )
    };
}
/// One look at each entry of an index of what is open.
pub(crate) const LIVE_BY_AGE: &str =
    concat!("SELECT ", newer!("live = TRUE", "n1", "n2", "n3", "n4", "n"), " FROM asks WHERE live = TRUE");
pub(crate) const UNDER_WAY_BY_AGE: &str = concat!(
    "SELECT ",
    newer!("under_way = 'submitted'", "s1", "s2", "s3", "s4", "s"),
    ", ",
    newer!("under_way = 'undelivered'", "u1", "u2", "u3", "u4", "u"),
    " FROM asks WHERE under_way IS NOT NULL"
);
pub(crate) const OVERDUE: &str = "SELECT count(*) AS n FROM asks WHERE due_at <= $1";
pub(crate) const NEXT_DUE: &str = "SELECT due_at FROM asks WHERE due_at > $1 ORDER BY due_at LIMIT 1";

/// An ask's row as it is stored, to be compared with what it should be.
pub(crate) const ASK_ROWS: &str = "SELECT id, session_id, owner, live, opened_at, due_at, request_seq, \
    response_seq, decided_at, under_way, doc FROM asks WHERE session_id = $1 ORDER BY opened_at, id";

/// The same of what its events are found by.
pub(crate) const FOUND_ROWS: &str = "SELECT session_id, seq, kind, owner, at, interaction_id, text, words FROM search \
    WHERE session_id = $1 AND seq > $2 ORDER BY seq LIMIT $3";

/// What the lists of sessions are made from, to be compared with what it should be.
pub(crate) const OPENING: &str = "SELECT owner, agent, title, opened, opened_at, listed, unfinished, \
    archived_at, archived_by FROM sessions WHERE id = $1";

/// Every journal, and every one that there was when somebody signed it.
pub(crate) const JOURNALS: &str = "SELECT id FROM sessions WHERE id > $1 ORDER BY id LIMIT $2";
pub(crate) const SIGNED_JOURNALS: &str = "SELECT session_id AS id FROM checkpoints \
    WHERE session_id > $1 AND number = 1 ORDER BY session_id LIMIT $2";
/// Those that grew since they were signed last.
pub(crate) const UNSIGNED: &str = "SELECT s.id FROM sessions s WHERE s.id > $1 AND NOT EXISTS \
    (SELECT 1 FROM checkpoints c WHERE c.session_id = s.id AND c.seq = s.last_seq) ORDER BY s.id LIMIT $2";

macro_rules! checkpoints {
    ($rest:literal) => {
        concat!(
            "SELECT session_id, number, seq, hash, at, previous, erased_by, key, signature FROM checkpoints \
             WHERE session_id = $1 ",
            $rest
        )
    };
}

/// What no round lists yet, and what one lists.
pub(crate) const IN_NO_ROUND: &str = "SELECT session_id, number, seq, hash, at, previous, erased_by, key, signature \
    FROM checkpoints WHERE round IS NULL ORDER BY round, session_id, number LIMIT $1";
pub(crate) const IN_ROUND: &str = "SELECT session_id, number, seq, hash, at, previous, erased_by, key, signature \
    FROM checkpoints WHERE round = $1 ORDER BY session_id, number LIMIT $2";
pub(crate) const SET_ROUND: &str =
    "UPDATE checkpoints SET round = $3 WHERE session_id = $1 AND number = $2 AND round IS NULL";
pub(crate) const ROUNDS: &str = "SELECT number, at, count, list, previous, key, signature FROM rounds \
    WHERE number > $1 ORDER BY number LIMIT $2";
pub(crate) const LAST_ROUND: &str =
    "SELECT number, at, count, list, previous, key, signature FROM rounds ORDER BY number DESC LIMIT 1";
pub(crate) const TWO_ROUNDS_OF_KEY: &str = "SELECT number, at, count, list, previous, key, signature FROM rounds \
    WHERE key = $1 AND number > $2 ORDER BY number LIMIT 2";
pub(crate) const ADD_ROUND: &str = "INSERT INTO rounds (number, at, count, list, previous, key, signature) \
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (number) DO NOTHING RETURNING number";

pub(crate) const CHECKPOINT: &str = checkpoints!("AND number = $2");
pub(crate) const CHECKPOINTS: &str = checkpoints!("AND number > $2 ORDER BY number LIMIT $3");
pub(crate) const LAST_CHECKPOINT: &str = checkpoints!("ORDER BY number DESC LIMIT 1");
/// Of two nodes that sign at once, one has the place.
pub(crate) const ADD_CHECKPOINT: &str = "INSERT INTO checkpoints \
    (session_id, number, seq, hash, at, previous, erased_by, key, signature) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9) ON CONFLICT (session_id, number) DO NOTHING RETURNING number";

pub(crate) const ERASE_EVENT: &str = "UPDATE events SET data = $4, salt = $4, data_hash = $3 \
    WHERE session_id = $1 AND seq = $2 AND data_hash IS NULL";
pub(crate) const ERASE_HEAD: &str = "UPDATE sessions SET title = NULL, opened = $2, state = $3, \
    agent_state = $4, state_version = $5, erased_at = $6, erased_by = $7, aged_out_to = $8, unfinished = TRUE WHERE id = $1";
/// Of what went to a file it is known from now on that it does not come back. A part of it may have been brought back already.
pub(crate) const ERASE_FOR_GOOD: &str = "UPDATE sessions SET erased_at = $2, erased_by = $3, aged_out_to = NULL, \
    unfinished = TRUE WHERE id = $1";
pub(crate) const BRING_BACK_EVENT: &str = "UPDATE events SET data = $4, salt = $3, data_hash = NULL \
    WHERE session_id = $1 AND seq = $2";
/// What is left of an older state is folded again.
pub(crate) const BRING_BACK: &str = "UPDATE sessions SET opened = $2, erased_at = NULL, erased_by = NULL, \
    aged_out_to = NULL, state_version = 0 WHERE id = $1";
pub(crate) const STILL_AWAY: &str =
    "SELECT seq FROM events WHERE session_id = $1 AND data_hash IS NOT NULL ORDER BY seq LIMIT 1";
pub(crate) const DROP_SOME_ASKS: &str = "DELETE FROM asks WHERE id IN \
    (SELECT id FROM asks WHERE session_id = $1 LIMIT $2) RETURNING id";
pub(crate) const DROP_SOME_FOUND: &str = "DELETE FROM search WHERE session_id = $1 AND seq IN \
    (SELECT seq FROM search WHERE session_id = $1 ORDER BY seq LIMIT $2) RETURNING seq";
pub(crate) const NOTHING_LEFT: &str =
    "UPDATE sessions SET unfinished = FALSE WHERE id = $1 AND erased_at = $2";
/// Whether this erasure is the one that counts, and is not done.
pub(crate) const STILL_BEING_EMPTIED: &str =
    "SELECT id FROM sessions WHERE id = $1 AND erased_at = $2 AND unfinished = TRUE";
/// Whether the session is in the file that it went to with this erasure, and nothing is being taken away any more.
pub(crate) const STILL_IN_ITS_FILE: &str = "SELECT id FROM sessions WHERE id = $1 AND erased_at = $2 \
    AND unfinished = FALSE AND aged_out_to IS NOT NULL";
/// No other node declares this life of a node dead before the transaction is over. The node itself can renew meanwhile.
pub(crate) const HOLD_MEMBER: &str = "SELECT epoch FROM nodes WHERE id = $1 AND epoch = $2 FOR KEY SHARE";

pub(crate) const KEEP_SECRET: &str = "INSERT INTO secrets \
    (answer, session_id, interaction_id, prompt_id, sealed, at) VALUES ($1, $2, $3, $4, $5, $6) \
    ON CONFLICT (answer) DO NOTHING";
macro_rules! secrets {
    ($rest:literal) => {
        concat!("SELECT answer, session_id, interaction_id, prompt_id, sealed, at FROM secrets ", $rest)
    };
}
pub(crate) const SECRET: &str = secrets!("WHERE answer = $1");
pub(crate) const SECRETS: &str = secrets!("ORDER BY answer");
pub(crate) const DROP_SECRET: &str = "DELETE FROM secrets WHERE answer = $1";
pub(crate) const DROP_SECRETS_OF_PROMPT: &str =
    "DELETE FROM secrets WHERE interaction_id = $1 AND prompt_id = $2";
pub(crate) const DROP_SECRETS_OF_ASK: &str = "DELETE FROM secrets WHERE interaction_id = $1";
pub(crate) const DROP_SECRETS_OF_SESSION: &str = "DELETE FROM secrets WHERE session_id = $1";

macro_rules! people {
    ($rest:literal) => {
        concat!(
            "SELECT id AS person_id, owner, name AS person_name, handle, role, created_at AS person_created_at, \
             removed_at, passkey_required, mac AS person_mac FROM people ",
            $rest
        )
    };
}
/// Of two who want a name at once, one has it.
pub(crate) const ADD_PERSON: &str = "INSERT INTO people (id, owner, name, handle, role, created_at, mac) \
    VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT (owner, handle) DO NOTHING";
pub(crate) const PERSON: &str = people!("WHERE id = $1");
pub(crate) const PERSON_BY_HANDLE: &str = people!("WHERE owner = $1 AND handle = $2");
pub(crate) const PEOPLE: &str = people!("WHERE owner = $1 ORDER BY handle");
pub(crate) const CHANGE_ROLE: &str =
    "UPDATE people SET role = $2, mac = $3 WHERE id = $1 AND removed_at IS NULL AND role <> $2 RETURNING id";
pub(crate) const REMOVE_PERSON: &str =
    "UPDATE people SET removed_at = $2, mac = NULL WHERE id = $1 AND removed_at IS NULL RETURNING id";

macro_rules! devices {
    ($rest:literal) => {
        concat!(
            "SELECT d.id, d.person_id, d.hash, d.kind, d.identified_by, d.name, d.session_id, d.created_at, d.last_used_at, \
             d.expires_at, d.revoked_at, p.owner, p.name AS person_name, p.handle, p.role, \
             p.created_at AS person_created_at, p.removed_at, p.passkey_required, p.mac AS person_mac, d.mac \
             FROM devices d JOIN people p ON p.id = d.person_id ",
            $rest
        )
    };
}
pub(crate) const ADD_DEVICE: &str = "INSERT INTO devices (id, person_id, hash, kind, name, session_id, created_at, \
    last_used_at, expires_at, revoked_at, mac, identified_by, changed) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, 0)";
pub(crate) const DEVICE_BY_HASH: &str = devices!("WHERE d.hash = $1");
pub(crate) const DEVICE: &str = devices!("WHERE d.id = $1");
pub(crate) const DEVICES: &str = devices!("WHERE d.person_id = $1 AND d.revoked_at IS NULL");
pub(crate) const USE_DEVICE: &str =
    "UPDATE devices SET last_used_at = $2 WHERE id = $1 AND revoked_at IS NULL";
/// The mark is for a device with this hash: one that was exchanged in between has another.
pub(crate) const PROLONG_DEVICE: &str = "UPDATE devices SET last_used_at = $2, expires_at = $3, mac = $4 \
    WHERE id = $1 AND hash = $5 AND revoked_at IS NULL";
/// Everything that the mark covers and that ever changes is set here, so no other change can come between the two.
pub(crate) const EXCHANGE_DEVICE: &str = "UPDATE devices SET hash = $2, identified_by = $3, expires_at = $4, mac = $5, \
    changed = $6 WHERE hash = $1 AND revoked_at IS NULL RETURNING id";
pub(crate) const REVOKE_DEVICE: &str = "UPDATE devices SET revoked_at = $2, changed = $3, mac = NULL WHERE id = $1 AND revoked_at IS NULL RETURNING id";
pub(crate) const REVOKE_DEVICES: &str = "UPDATE devices SET revoked_at = $2, changed = $3, mac = NULL WHERE person_id = $1 AND revoked_at IS NULL RETURNING id";
/// Its open connections begin anew.
pub(crate) const MARK_DEVICES: &str =
    "UPDATE devices SET changed = $2 WHERE person_id = $1 AND revoked_at IS NULL RETURNING id";
pub(crate) const NEXT_REVISION: &str =
    "UPDATE access SET revision = revision + 1 WHERE one = 1 RETURNING revision";
pub(crate) const REVISION: &str = "SELECT revision FROM access WHERE one = 1";
pub(crate) const CHANGED_DEVICES: &str = "SELECT id FROM devices WHERE changed > $1";

pub(crate) const ADD_PASSKEY: &str = "INSERT INTO passkeys (id, person_id, credential, public_key, site, name, count, \
    created_at, last_used_at, mac) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, NULL, $9)";
pub(crate) const PASSKEYS: &str = "SELECT id, person_id, credential, public_key, site, name, count, created_at, \
    last_used_at, mac FROM passkeys WHERE person_id = $1";
pub(crate) const DROP_OLD_CONFIRMATIONS: &str = "DELETE FROM passkey_confirmations WHERE expires_at <= $1";
/// One statement, so that of two answers to one challenge one counts.
pub(crate) const ADD_CONFIRMATION: &str = "INSERT INTO passkey_confirmations (challenge, device_id, purpose, \
    passkey_id, expires_at, mac, used) VALUES ($1, $2, $3, $4, $5, $6, 0) ON CONFLICT (challenge) DO NOTHING \
    RETURNING challenge";
pub(crate) const CONFIRMATIONS: &str = "SELECT challenge, device_id, purpose, passkey_id, expires_at, mac \
    FROM passkey_confirmations WHERE device_id = $1 AND purpose = $2 AND used = 0 AND expires_at > $3";
/// One statement, so that of many who try one gets it. The row stays until it expires: its challenge was answered.
pub(crate) const USE_CONFIRMATION: &str =
    "UPDATE passkey_confirmations SET used = 1 WHERE challenge = $1 AND used = 0 RETURNING challenge";
pub(crate) const GIVE_CONFIRMATION_BACK: &str =
    "UPDATE passkey_confirmations SET used = 0 WHERE challenge = $1 AND used = 1 RETURNING challenge";
/// Authenticators that do not count say 0 each time.
pub(crate) const USE_PASSKEY: &str = "UPDATE passkeys SET last_used_at = $2, count = $3 WHERE id = $1 \
    AND (count < $3 OR (count = 0 AND $3 = 0)) RETURNING id";
pub(crate) const REMOVE_PASSKEY: &str = "DELETE FROM passkeys WHERE id = $1 AND person_id = $2 RETURNING id";
pub(crate) const SET_PASSKEY_RULE: &str =
    "UPDATE people SET passkey_required = $2, mac = $3 WHERE id = $1 AND removed_at IS NULL RETURNING id";

/// Rows of the time before there were marks, and their marks.
pub(crate) const UNMARKED_PEOPLE: &str = people!("WHERE mac IS NULL AND removed_at IS NULL");
pub(crate) const MARK_PERSON: &str = "UPDATE people SET mac = $2 WHERE id = $1 AND mac IS NULL";
pub(crate) const UNMARKED_DEVICES: &str = devices!("WHERE d.mac IS NULL AND d.revoked_at IS NULL");
pub(crate) const MARK_DEVICE: &str = "UPDATE devices SET mac = $2 WHERE id = $1 AND mac IS NULL";
pub(crate) const ALL_PEOPLE: &str = people!("WHERE removed_at IS NULL");
pub(crate) const ALL_DEVICES: &str = devices!("WHERE d.revoked_at IS NULL");

pub(crate) const ADD_LINK: &str =
    "INSERT INTO login_links (hash, person_id, expires_at, mac) VALUES ($1, $2, $3, $4)";
/// One statement, so that of many who try one gets in.
pub(crate) const USE_LINK: &str = "UPDATE login_links SET used_at = $2 \
    WHERE hash = $1 AND used_at IS NULL AND expires_at > $2 RETURNING hash, person_id, expires_at, mac";
pub(crate) const LINK: &str = "SELECT expires_at, used_at FROM login_links WHERE hash = $1";
pub(crate) const ADD_TICKET: &str =
    "INSERT INTO tickets (hash, token, expires_at, mac) VALUES ($1, $2, $3, $4)";
pub(crate) const DROP_OLD_TICKETS: &str = "DELETE FROM tickets WHERE expires_at <= $1";
pub(crate) const TICKET: &str = "SELECT token FROM tickets WHERE hash = $1 AND expires_at > $2";
/// One statement, so that of many who try one gets in.
pub(crate) const USE_TICKET: &str =
    "DELETE FROM tickets WHERE hash = $1 AND expires_at > $2 RETURNING hash, token, expires_at, mac";

/// Every query whose cost must not grow with what is stored, with values to explain it for.
pub(crate) fn explained() -> Vec<(&'static str, &'static str, Vec<Param>)> {
    let id = || Param::Id(Uuid::nil());
    let owner = || Param::Text("nobody".to_owned());
    let page = |first: Param| vec![first, Param::Int(0), id(), Param::Int(50)];
    let state = Param::Bytes(b"\"idle\"".to_vec());
    let in_state = vec![owner(), Param::Int(0), id(), state, Param::Int(50)];
    vec![
        ("read", READ, vec![id(), Param::Int(0), Param::Int(50)]),
        ("session", SESSION, vec![id()]),
        ("sessions", SESSIONS, page(owner())),
        ("unarchived sessions", UNARCHIVED_SESSIONS, page(owner())),
        ("archived sessions", ARCHIVED_SESSIONS, page(owner())),
        ("sessions in state", sessions_in_state!("$4", "$5"), in_state),
        ("unfinished", UNFINISHED, vec![id(), Param::Int(50)]),
        ("outdated", OUTDATED, vec![Param::Int(1), Param::Int(50)]),
        ("ask", ASK, vec![id()]),
        ("live asks", LIVE_ASKS, page(owner())),
        ("all asks", ALL_ASKS, page(owner())),
        ("live asks in session", LIVE_ASKS_IN_SESSION, page(id())),
        ("all asks in session", ALL_ASKS_IN_SESSION, page(id())),
        (
            "under way",
            UNDER_WAY,
            vec![id(), Param::Text("undelivered".to_owned()), Param::Int(0), id(), Param::Int(50)],
        ),
        ("live count", LIVE_COUNT, vec![owner()]),
        ("decisions", DECISIONS, page(owner())),
        ("decision", DECISION, vec![id(), owner()]),
        ("found rows", FOUND_ROWS, vec![id(), Param::Int(0), Param::Int(50)]),
        ("due", DUE, vec![Param::Int(0), Param::Int(50)]),
        ("next due", NEXT_DUE, vec![Param::Int(0)]),
        ("live by age", LIVE_BY_AGE, waiting::ends(Timestamp::from_micros(0))),
        ("under way by age", UNDER_WAY_BY_AGE, waiting::ends(Timestamp::from_micros(0))),
        ("overdue", OVERDUE, vec![Param::Int(0)]),
        ("journals", JOURNALS, vec![id(), Param::Int(50)]),
        ("signed journals", SIGNED_JOURNALS, vec![id(), Param::Int(50)]),
        ("unsigned", UNSIGNED, vec![id(), Param::Int(50)]),
        ("checkpoint", CHECKPOINT, vec![id(), Param::Int(1)]),
        ("checkpoints", CHECKPOINTS, vec![id(), Param::Int(0), Param::Int(50)]),
        ("in no round", IN_NO_ROUND, vec![Param::Int(50)]),
        ("in round", IN_ROUND, vec![Param::Int(1), Param::Int(50)]),
        ("secret", SECRET, vec![Param::Text("none".to_owned())]),
        ("last checkpoint", LAST_CHECKPOINT, vec![id()]),
        ("person", PERSON, vec![id()]),
        ("person by handle", PERSON_BY_HANDLE, vec![owner(), owner()]),
        ("people", PEOPLE, vec![owner()]),
        ("device by hash", DEVICE_BY_HASH, vec![Param::Bytes(vec![0; 32])]),
        ("device", DEVICE, vec![id()]),
        ("devices", DEVICES, vec![id()]),
        ("passkeys", PASSKEYS, vec![id()]),
        ("confirmations", CONFIRMATIONS, vec![id(), Param::Bytes(vec![0; 32]), Param::Int(0)]),
        ("changed devices", CHANGED_DEVICES, vec![Param::Int(0)]),
        ("login link", LINK, vec![Param::Bytes(vec![0; 32])]),
        ("ticket", TICKET, vec![Param::Bytes(vec![0; 32]), Param::Int(0)]),
    ]
}
