//! How many connections there may be: of one process, and of all.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// A plugin holds one for each ask of its program.
const MOST_OF_ONE: usize = 256;
const MOST: usize = 4_096;

#[derive(Debug, Default)]
pub(super) struct Places(Arc<Mutex<HashMap<i32, usize>>>);

/// Given back when it is dropped.
#[derive(Debug)]
pub(super) struct Place {
    places: Arc<Mutex<HashMap<i32, usize>>>,
    process: i32,
}

fn taken(places: &Mutex<HashMap<i32, usize>>) -> MutexGuard<'_, HashMap<i32, usize>> {
    places.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Places {
    /// A place for another connection of this process, if it may have one.
    pub(super) fn take(&self, process: i32) -> Option<Place> {
        let mut all = taken(&self.0);
        let own = all.get(&process).copied().unwrap_or_default();
        if own >= MOST_OF_ONE || all.values().sum::<usize>() >= MOST {
            return None;
        }
        all.insert(process, own + 1);
        Some(Place { places: Arc::clone(&self.0), process })
    }
}

impl Place {
    pub(super) const fn process(&self) -> i32 {
        self.process
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let mut all = taken(&self.places);
        if let Some(own) = all.get_mut(&self.process) {
            *own = own.saturating_sub(1);
            if *own == 0 {
                all.remove(&self.process);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_takes_no_place_of_another() {
        let places = Places::default();
        let kept: Vec<_> = (0..MOST_OF_ONE).map(|_| places.take(1).expect("a place")).collect();
        assert!(places.take(1).is_none() && places.take(2).is_some());
        drop(kept);
        assert!(places.take(1).is_some());
        let all: Vec<_> = (0..).map_while(|process| places.take(process / 100)).collect();
        assert_eq!(all.len(), MOST);
    }
}
