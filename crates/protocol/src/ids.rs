//! Identifiers. Each kind has its own type, so that a prompt can never be passed for an ask.

use std::borrow::Cow;
use std::fmt;
use std::str::FromStr;

use serde::{Deserialize, Serialize};
use uuid::Uuid;

/// Why a text is not an identifier.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum IdError {
    #[error("`{given}` is not a {kind} id: it must look like `{prefix}_` and 32 hexadecimal digits")]
    Malformed { kind: &'static str, prefix: &'static str, given: String },
    #[error("a {kind} must have 1 to {limit} characters and no control characters")]
    BadText { kind: &'static str, limit: usize },
}

macro_rules! uuid_id {
    (#[doc = $doc:literal] $name:ident, $prefix:literal, $kind:literal) => {
        #[doc = $doc]
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        pub struct $name(Uuid);

        impl $name {
            pub const fn from_uuid(uuid: Uuid) -> Self {
                Self(uuid)
            }

            pub const fn uuid(self) -> Uuid {
                self.0
            }

            /// The last four digits: what a terminal shows.
            pub fn short(self) -> String {
                let digits = self.0.simple().to_string();
                digits[digits.len() - 4..].to_owned()
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                write!(f, concat!($prefix, "_{}"), self.0.simple())
            }
        }

        impl fmt::Debug for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(self, f)
            }
        }

        impl FromStr for $name {
            type Err = IdError;

            fn from_str(text: &str) -> Result<Self, IdError> {
                text.strip_prefix(concat!($prefix, "_"))
                    .filter(|digits| digits.len() == 32)
                    .and_then(|digits| Uuid::try_parse(digits).ok())
                    .map(Self)
                    .ok_or_else(|| IdError::Malformed {
                        kind: $kind,
                        prefix: $prefix,
                        given: text.to_owned(),
                    })
            }
        }

        impl Serialize for $name {
            fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                serializer.collect_str(self)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                let text = Cow::<'de, str>::deserialize(deserializer)?;
                text.parse().map_err(serde::de::Error::custom)
            }
        }

        impl utoipa::PartialSchema for $name {
            fn schema() -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
                utoipa::openapi::ObjectBuilder::new()
                    .schema_type(utoipa::openapi::schema::Type::String)
                    .description(Some($doc.trim_start()))
                    .pattern(Some(concat!("^", $prefix, "_[0-9a-f]{32}$")))
                    .build()
                    .into()
            }
        }

        impl utoipa::ToSchema for $name {}
    };
}

uuid_id!(
    /// One conversation with one agent. Also names an owner's own small journal.
    SessionId, "ses", "session"
);
uuid_id!(
    /// One line of a journal.
    EventId, "evt", "event"
);
uuid_id!(
    /// One turn: a message, and what the agent does about it until it is done.
    TurnId, "trn", "turn"
);
uuid_id!(
    /// One message, of a person or of the agent's model.
    MessageId, "msg", "message"
);
uuid_id!(
    /// One ask to a person.
    InteractionId, "int", "interaction"
);
uuid_id!(
    /// One showing of an ask.
    PromptId, "prm", "prompt"
);
uuid_id!(
    /// One saved rule or remembered approval.
    GrantId, "grn", "grant"
);
uuid_id!(
    /// One trust in a folder's own files as they are.
    TrustId, "tru", "trust"
);
uuid_id!(
    /// A person, a program or a hosted agent: whoever acts, on whatever device.
    PersonId, "per", "person"
);
uuid_id!(
    /// One browser, terminal or token of a person.
    DeviceId, "dev", "device"
);
uuid_id!(
    /// A machine that runs agents: whoever holds its token.
    RunnerId, "rnr", "runner"
);
uuid_id!(
    /// A passkey of a person.
    PasskeyId, "pky", "passkey"
);

impl From<PersonId> for RunnerId {
    fn from(person: PersonId) -> Self {
        Self(person.uuid())
    }
}

/// One of 65,536 tags, computed from the owner and part of every session and ask id. It tells without a lookup that an
/// id cannot belong to an owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct OwnerTag(pub u16);

/// Where an id keeps the tag of its owner.
const TAG_BYTES: std::ops::Range<usize> = 12..14;

fn with_tag(uuid: Uuid, tag: OwnerTag) -> Uuid {
    let mut bytes = uuid.into_bytes();
    bytes[TAG_BYTES].copy_from_slice(&tag.0.to_be_bytes());
    Uuid::from_bytes(bytes)
}

const fn tag_of(uuid: Uuid) -> OwnerTag {
    let bytes = uuid.into_bytes();
    OwnerTag(u16::from_be_bytes([bytes[TAG_BYTES.start], bytes[TAG_BYTES.start + 1]]))
}

impl SessionId {
    pub fn generate(owner: &OwnerId) -> Self {
        Self(with_tag(Uuid::now_v7(), owner.owner_tag()))
    }

    /// Whether it has the tag of this owner. Few others have the same.
    pub fn may_belong_to(self, owner: &OwnerId) -> bool {
        self.owner_tag() == owner.owner_tag()
    }

    /// The session that `name` always leads to for this owner: its own journal, or a calling program's session.
    pub fn derive(owner: &OwnerId, name: &str) -> Self {
        let space = Uuid::new_v5(&Uuid::NAMESPACE_OID, owner.as_str().as_bytes());
        Self(with_tag(Uuid::new_v5(&space, name.as_bytes()), owner.owner_tag()))
    }

    pub const fn owner_tag(self) -> OwnerTag {
        tag_of(self.0)
    }
}

impl InteractionId {
    /// The ask that `key` always leads to in this session. The key is the agent's tool call or the caller's own
    /// key, so that asking the same thing again finds the same ask.
    pub fn derive(session: SessionId, key: &str) -> Self {
        Self(with_tag(Uuid::new_v5(&session.0, key.as_bytes()), session.owner_tag()))
    }

    pub fn generate(session: SessionId) -> Self {
        Self(with_tag(Uuid::now_v7(), session.owner_tag()))
    }

    pub const fn owner_tag(self) -> OwnerTag {
        tag_of(self.0)
    }
}

impl PromptId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl TurnId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl MessageId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl EventId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl PersonId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl DeviceId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl PasskeyId {
    pub fn generate() -> Self {
        Self(Uuid::now_v7())
    }
}

impl GrantId {
    /// A grant is named after the prompt whose answer gave it, and one answer wins a prompt: saving it twice saves it once.
    pub fn from_answer(prompt: PromptId) -> Self {
        Self(Uuid::new_v5(&prompt.0, b"grant"))
    }

    /// A rule that a person wrote by themselves: writing it twice saves it once.
    pub fn of_line(owner: &OwnerId, line: &str) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("rule\n{owner}\n{line}").as_bytes()))
    }

    /// What a tool remembers of the same answer, under a key of its own: another grant than that of the exact input.
    pub fn from_answer_under(interaction: InteractionId, key: &str) -> Self {
        Self(Uuid::new_v5(&interaction.0, format!("key\n{key}").as_bytes()))
    }
}

impl TrustId {
    /// A trust is named after what is trusted: saving it twice saves it once.
    pub fn of(agent: &str, folder: &str, digest: &Digest) -> Self {
        Self(Uuid::new_v5(&Uuid::NAMESPACE_OID, format!("{agent}\n{folder}\n{digest}").as_bytes()))
    }
}

macro_rules! text_id {
    ($(#[$doc:meta])* $name:ident, $kind:literal, $limit:literal) => {
        $(#[$doc])*
        #[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, utoipa::ToSchema)]
        #[serde(transparent)]
        #[schema(value_type = String)]
        pub struct $name(String);

        impl $name {
            pub fn new(text: impl Into<String>) -> Result<Self, IdError> {
                let text = text.into();
                let fits = !text.is_empty() && text.chars().count() <= $limit;
                if fits && !text.chars().any(char::is_control) {
                    Ok(Self(text))
                } else {
                    Err(IdError::BadText { kind: $kind, limit: $limit })
                }
            }

            pub fn as_str(&self) -> &str {
                &self.0
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(&self.0)
            }
        }

        impl<'de> Deserialize<'de> for $name {
            fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
                Self::new(String::deserialize(deserializer)?).map_err(serde::de::Error::custom)
            }
        }
    };
}

text_id!(
    /// The agent's own name for one tool call. Never guessed from inputs.
    ToolCallId, "tool call id", 256
);
text_id!(
    /// Whose sessions, asks and grants these are: a person on a laptop, a team on a platform.
    OwnerId, "owner", 64
);

impl OwnerId {
    pub fn owner_tag(&self) -> OwnerTag {
        let bytes = Uuid::new_v5(&Uuid::NAMESPACE_OID, self.0.as_bytes()).into_bytes();
        OwnerTag(u16::from_be_bytes([bytes[0], bytes[1]]))
    }
}

/// A SHA-256 in hexadecimal digits. That of an input in canonical form (keys sorted) is what an allow is bound to.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema)]
#[serde(transparent)]
#[schema(value_type = String)]
pub struct Digest(String);

impl Digest {
    pub fn from_bytes(bytes: &[u8]) -> Self {
        use fmt::Write as _;
        let mut text = String::with_capacity(bytes.len() * 2);
        for byte in bytes {
            // Writing to a String cannot fail.
            let _infallible = write!(text, "{byte:02x}");
        }
        Self(text)
    }

    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Digest {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

macro_rules! count {
    ($(#[$doc:meta])* $name:ident) => {
        $(#[$doc])*
        #[derive(
            Debug,
            Clone,
            Copy,
            PartialEq,
            Eq,
            PartialOrd,
            Ord,
            Hash,
            Default,
            Serialize,
            Deserialize,
            utoipa::ToSchema,
        )]
        #[serde(transparent)]
        #[schema(value_type = u64)]
        pub struct $name(pub u64);

        impl $name {
            /// Before the first.
            pub const START: Self = Self(0);

            /// The last one is its own successor: what comes by wire may name it.
            #[must_use]
            pub const fn next(self) -> Self {
                Self(self.0.saturating_add(1))
            }
        }

        impl fmt::Display for $name {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                fmt::Display::fmt(&self.0, f)
            }
        }
    };
}

count! {
    /// A place in a session's journal. Events count from 1; 0 is "before the first".
    Seq
}

count! {
    /// The number of something that an agent said, within one life of its process: from 1, without a gap.
    AgentSeq
}

/// One life of an agent's process, counted from 1 within its session.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize, utoipa::ToSchema,
)]
#[serde(transparent)]
#[schema(value_type = u32)]
pub struct Incarnation(pub u32);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_reads_back_and_refuses_another_kind() {
        let owner = OwnerId::new("local").unwrap();
        let session = SessionId::generate(&owner);
        assert_eq!(session.to_string().parse::<SessionId>(), Ok(session));
        assert!(session.to_string().parse::<InteractionId>().is_err());
        assert!("ses_12".parse::<SessionId>().is_err());
    }

    #[test]
    fn an_ask_carries_the_tag_of_its_owner() {
        let owner = OwnerId::new("team-a").unwrap();
        let session = SessionId::generate(&owner);
        let ask = InteractionId::derive(session, "call:toolu_1");
        assert_eq!((ask.owner_tag(), session.owner_tag()), (owner.owner_tag(), owner.owner_tag()));
        assert_eq!(ask, InteractionId::derive(session, "call:toolu_1"));
        assert_ne!(ask, InteractionId::derive(session, "call:toolu_2"));
    }

    #[test]
    fn a_tool_call_id_with_a_nul_is_refused() {
        assert!(ToolCallId::new("toolu_\u{0}").is_err());
        assert!(ToolCallId::new("").is_err());
        assert!(ToolCallId::new("toolu_01").is_ok());
    }
}
