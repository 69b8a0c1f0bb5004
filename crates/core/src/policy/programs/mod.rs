//! What is known of common programs.

pub mod bsd;
mod classes;
mod form;
mod judge;
mod judged;
mod scan;
mod scripts;
mod table;
mod values;
mod versions;

pub use classes::{Class, class_of};
pub use form::{Form, Program, Runs, Style, Switch, Value};
pub use judge::{Named, core_places, form_of, judge};
pub use judged::{Access, COUNTS, Judged, NamedPath, Spelling};
pub use table::{program, programs};
pub use versions::{Installed, KeptBy, is_listed, is_verified};

/// A program's name without the folders before it.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
