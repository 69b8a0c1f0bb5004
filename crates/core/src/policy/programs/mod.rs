//! What is known of common programs.

mod classes;

pub use classes::{Class, class_of};

/// A program's name without the folders before it.
pub fn base_name(program: &str) -> &str {
    program.rsplit('/').next().unwrap_or(program)
}
