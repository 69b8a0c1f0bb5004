//! A person sets variables of a session, or removes some.

use std::collections::BTreeMap;

use holdstead_protocol::{EventBody, VariableValue, Variables, VariablesSet};

use super::still_open;
use crate::policy::{check_settable, check_value};
use crate::{Head, Rejection};

/// They are part of the head, which is read and written at every append.
const MOST_VARIABLES: usize = 32;

pub(crate) fn decide(head: &Head, set: &VariablesSet) -> Result<Vec<EventBody>, Rejection> {
    still_open(head)?;
    for (name, value) in &set.variables {
        check(name, value.as_ref())?;
    }
    let changes =
        |(name, value): &(&String, &Option<VariableValue>)| head.variables.get(*name) != value.as_ref();
    let changed: BTreeMap<_, _> =
        set.variables.iter().filter(changes).map(|(name, value)| (name.clone(), value.clone())).collect();
    let mut after = head.variables.clone();
    apply(&mut after, &changed);
    check_number(&after)?;
    if changed.is_empty() {
        return Ok(Vec::new());
    }
    Ok(vec![EventBody::VariablesSet(VariablesSet { variables: changed, ..set.clone() })])
}

/// Those that a session is opened with.
pub(super) fn check_all(variables: &Variables) -> Result<(), Rejection> {
    variables.iter().try_for_each(|(name, value)| check(name, Some(value)))?;
    check_number(variables)
}

pub(crate) fn apply(variables: &mut Variables, changes: &BTreeMap<String, Option<VariableValue>>) {
    for (name, value) in changes {
        match value {
            Some(value) => variables.insert(name.clone(), value.clone()),
            None => variables.remove(name),
        };
    }
}

fn check(name: &str, value: Option<&VariableValue>) -> Result<(), Rejection> {
    let wrong = |why| Rejection::BadVariable { name: name.to_owned(), why };
    check_settable(name).map_err(wrong)?;
    value.map_or(Ok(()), check_value).map_err(wrong)
}

fn check_number(variables: &Variables) -> Result<(), Rejection> {
    if variables.len() > MOST_VARIABLES {
        return Err(Rejection::TooManyVariables { most: MOST_VARIABLES });
    }
    Ok(())
}
