//! Whose sessions somebody may end and erase.

use holdstead_protocol::{Actor, SessionOpened};

use crate::Rejection;

/// Which sessions of its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Manages {
    All,
    /// Those that they opened themselves.
    Own,
}

/// Refuses whoever may not end or erase this session.
pub fn may_manage(manages: Manages, who: Option<Actor>, opened: &SessionOpened) -> Result<(), Rejection> {
    let opener = opened.opened_by.as_ref().and_then(|opener| opener.actor);
    let is_own = who.zip(opener).is_some_and(|(who, opener)| who.person_id == opener.person_id);
    match manages {
        Manages::All => Ok(()),
        Manages::Own if is_own => Ok(()),
        Manages::Own => Err(Rejection::NotTheirs {
            opened_by: opened.opened_by.as_ref().map(|opener| opener.name.clone()),
        }),
    }
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{DeviceId, Opener, OwnerId, PersonId};

    use super::*;

    #[test]
    fn one_manages_what_one_opened_on_whatever_device_and_an_admin_everything() {
        let actor = |person_id| Actor { person_id, device_id: DeviceId::generate() };
        let (ana, ben) = (PersonId::generate(), PersonId::generate());
        let session = SessionOpened::new(OwnerId::new("team").unwrap(), "scripted");
        let hers = SessionOpened {
            opened_by: Some(Opener { name: "Ana".to_owned(), actor: Some(actor(ana)) }),
            ..session.clone()
        };
        assert_eq!(may_manage(Manages::Own, Some(actor(ana)), &hers), Ok(()));
        for nobody in [None, Some(actor(ben))] {
            let refused = Rejection::NotTheirs { opened_by: Some("Ana".to_owned()) };
            assert_eq!(may_manage(Manages::Own, nobody, &hers), Err(refused));
            let refused = Rejection::NotTheirs { opened_by: None };
            assert_eq!(may_manage(Manages::Own, nobody, &session), Err(refused), "nobody knows whose it is");
            assert_eq!(may_manage(Manages::All, nobody, &hers), Ok(()));
        }
    }
}
