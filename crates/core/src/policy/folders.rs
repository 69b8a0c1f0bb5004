//! Where a command of a line may run: `cd` moves those after it, if it succeeds.

use super::paths;
use super::shell::Join;

/// So many possibilities are followed; after that nobody knows.
const MAX: usize = 8;

/// The folders in which the next command may run, absolute and as the shell writes them.
#[derive(Debug, Clone)]
pub(super) struct Folders {
    /// Where it may run if everything since the last `;`, `|` or `||` succeeded. `None`: nobody knows.
    here: Option<Vec<String>>,
    /// Where it may run otherwise.
    otherwise: Vec<String>,
    /// How the command is joined that runs now.
    joined: Join,
}

impl Folders {
    pub(super) fn new(cwd: Option<&str>) -> Self {
        Self { here: cwd.map(|cwd| vec![cwd.to_owned()]), otherwise: Vec::new(), joined: Join::First }
    }

    /// Goes on to a command that is joined like this.
    pub(super) fn join(&mut self, join: Join) {
        self.joined = join;
        match join {
            Join::First | Join::And => {}
            Join::Or | Join::Then | Join::Pipe => {
                if let Some(here) = &mut self.here {
                    let others = std::mem::take(&mut self.otherwise);
                    here.extend(others);
                    here.sort_unstable();
                    here.dedup();
                }
            }
        }
        if self.here.as_ref().is_some_and(|here| here.len() > MAX) {
            self.here = None;
        }
    }

    pub(super) fn possible(&self) -> Option<&[String]> {
        self.here.as_deref()
    }

    /// After `cd target`. A shell takes `..` away from its own idea of where it is.
    pub(super) fn change(&mut self, target: Option<&str>) {
        let Some(here) = self.here.take() else { return };
        let mut moved = target.and_then(|target| {
            here.iter().map(|folder| paths::normal(&paths::join(folder, target))).collect::<Option<Vec<_>>>()
        });
        match self.joined {
            Join::First | Join::And | Join::Then => {}
            // After `||` it may not have run, and after `|` it runs in another process: what follows `&&` runs all the same.
            Join::Or | Join::Pipe => moved.iter_mut().for_each(|moved| moved.extend_from_slice(&here)),
        }
        self.otherwise.extend(here);
        self.here = moved;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How a command is joined, and where it goes if it is a `cd`.
    type Step = (Join, Option<&'static str>);

    fn after(steps: &[Step]) -> Option<Vec<String>> {
        let mut folders = Folders::new(Some("/p"));
        for (join, target) in steps {
            folders.join(*join);
            if let Some(target) = target {
                folders.change(Some(target));
            }
        }
        folders.possible().map(<[_]>::to_vec)
    }

    #[test]
    fn a_failed_cd_leaves_the_rest_where_it_was() {
        use Join::{And, First, Or, Pipe, Then};
        let cases: [(&[Step], &[&str]); 9] = [
            (&[(First, Some("a")), (And, None)], &["/p/a"]),
            (&[(First, Some("a")), (Then, None)], &["/p", "/p/a"]),
            (&[(First, Some("a")), (Or, None)], &["/p", "/p/a"]),
            (&[(First, Some("a")), (Pipe, None)], &["/p", "/p/a"]),
            (&[(First, Some("a")), (And, Some("..")), (And, None)], &["/p"]),
            (&[(First, Some("a")), (And, Some("b")), (And, None), (Then, None)], &["/p", "/p/a", "/p/a/b"]),
            (&[(First, None), (Or, Some("a")), (And, None)], &["/p/a", "/p"]),
            (&[(First, None), (Pipe, Some("a")), (And, None)], &["/p/a", "/p"]),
            (&[(First, None), (Or, Some("a")), (And, Some("b")), (And, None)], &["/p/a/b", "/p/b"]),
        ];
        for (steps, expected) in cases {
            assert_eq!(
                after(steps).as_deref(),
                Some(expected.iter().map(|p| (*p).to_owned()).collect::<Vec<_>>().as_slice()),
                "{steps:?}"
            );
        }
        assert_eq!(after(&[(First, Some("../../.."))]), None);
        let doubling: Vec<_> = ["a", "b", "c", "d", "e"].into_iter().map(|name| (Then, Some(name))).collect();
        assert_eq!(after(&[doubling, vec![(Then, None)]].concat()), None);
    }
}
