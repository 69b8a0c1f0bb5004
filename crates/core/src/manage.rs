//! Whose sessions somebody may end and erase, and whose role may change.

use holdstead_protocol::api::{OpenSession, Role};
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

/// Refuses a session that only an admin may open: its program runs in place of the one that the gateway's settings name.
pub fn may_open(manages: Manages, open: &OpenSession) -> Result<(), Rejection> {
    match (manages, &open.program) {
        (Manages::Own, Some(_)) => Err(Rejection::ProgramIsAdmins),
        (Manages::All, _) | (Manages::Own, None) => Ok(()),
    }
}

/// Why somebody's role stays as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum RoleStays {
    #[error("cannot become that: programs stay programs, since tokens that agents hold must never answer")]
    Program,
    #[error("is the only admin. Make somebody else one first: holdstead people role NAME admin")]
    OnlyAdmin,
}

/// Whether somebody may be given another role, or be removed (`None`), beside others with these roles.
pub fn may_change_role(from: Role, to: Option<Role>, others: &[Role]) -> Result<(), RoleStays> {
    let is_program = |role| match role {
        Role::Agent | Role::Runner | Role::Metrics => true,
        Role::Person | Role::Viewer | Role::Admin => false,
    };
    if to.is_some_and(|to| is_program(from) != is_program(to)) {
        return Err(RoleStays::Program);
    }
    if from == Role::Admin && to != Some(Role::Admin) && !others.contains(&Role::Admin) {
        return Err(RoleStays::OnlyAdmin);
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use holdstead_protocol::{DeviceId, Opener, OwnerId, PersonId};

    use super::*;

    #[test]
    fn one_manages_what_one_opened_on_whatever_device_and_an_admin_everything() {
        let actor = |person_id| Actor { person_id, device_id: DeviceId::generate(), passkey_id: None };
        let (ana, ben) = (PersonId::generate(), PersonId::generate());
        let session = SessionOpened::new(OwnerId::new("team").unwrap(), "scripted");
        let hers = SessionOpened {
            opened_by: Some(Box::new(Opener { name: "Ana".to_owned(), actor: Some(actor(ana)) })),
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

    #[test]
    fn programs_stay_programs_and_somebody_stays_admin() {
        let may = may_change_role;
        for (from, to) in [
            (Role::Agent, Role::Person),
            (Role::Runner, Role::Admin),
            (Role::Metrics, Role::Viewer),
            (Role::Viewer, Role::Agent),
        ] {
            assert_eq!(may(from, Some(to), &[Role::Admin]), Err(RoleStays::Program));
        }
        for to in [None, Some(Role::Person), Some(Role::Viewer)] {
            assert_eq!(may(Role::Admin, to, &[Role::Person]), Err(RoleStays::OnlyAdmin));
            assert_eq!(may(Role::Admin, to, &[Role::Admin]), Ok(()));
            assert_eq!(may(Role::Person, to, &[]), Ok(()));
        }
        assert_eq!(may(Role::Admin, Some(Role::Admin), &[]), Ok(()));
        assert_eq!(may(Role::Agent, None, &[]), Ok(()));
    }
}
