//! The name of a client, in the id that it sends with each request.
//!
//! A client introduces itself once. So that nobody has to remember it, the session id that it is given is its name.

/// Where a client of the older protocols sends it.
pub(crate) const HEADER: &str = "mcp-session-id";
const PREFIX: &str = "client-";
/// A name is for a person to read.
const LONGEST: usize = 64;

/// A client's name as an id.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Named(pub(crate) String);

impl Named {
    /// Letters and digits only: names may have any.
    pub(crate) fn to_id(&self) -> String {
        let name: String = self.0.chars().take(LONGEST).collect();
        name.bytes().fold(PREFIX.to_owned(), |id, byte| format!("{id}{byte:02x}"))
    }

    /// Nothing, if it is not an id that we gave.
    pub(crate) fn from_id(id: &str) -> Option<Self> {
        let digits = id.strip_prefix(PREFIX).filter(|digits| digits.is_ascii())?;
        let byte = |at: usize| u8::from_str_radix(digits.get(at..at + 2)?, 16).ok();
        let bytes: Option<Vec<u8>> = (0..digits.len()).step_by(2).map(byte).collect();
        String::from_utf8(bytes?).ok().filter(|name| name.chars().count() <= LONGEST).map(Self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_survives_as_an_id() {
        for name in ["codex-mcp-client", "Zoë's editor", ""] {
            let named = Named(name.to_owned());
            assert!(named.to_id().bytes().all(|byte| byte.is_ascii_graphic()));
            assert_eq!(Named::from_id(&named.to_id()), Some(named));
        }
        for other in ["client-4", "client-zz", "client-ff", "", "6f", "client-é"] {
            assert_eq!(Named::from_id(other), None, "{other}");
        }
        assert_eq!(Named::from_id(&Named("x".repeat(99)).to_id()), Some(Named("x".repeat(LONGEST))));
    }
}
