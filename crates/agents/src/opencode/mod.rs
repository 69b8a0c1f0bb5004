//! opencode in a person's own terminal, seen through a plugin of ours that runs inside of it.
//!
//! Its dialog stands in the terminal while somebody may answer here, too. The race is clean: the program tells at once who was
//! faster and what was said, and whoever comes late is refused. What we know of the program was found by running it; the
//! recordings stand in `tests/fixtures/opencode`.

mod driver;
mod plugin;
mod shown;
mod terminal;
mod wire;

pub use driver::OpencodeDriver;
pub use plugin::{PLUGIN_FILE, plugin_source};
