//! The log, without the secrets that are known.

use std::io::{Stderr, Write};

use holdstead_gateway::Masks;

/// Makes what the log is written with.
pub(crate) fn masked(masks: &Masks) -> impl Fn() -> Masked<Stderr> + use<> {
    let masks = masks.clone();
    move || Masked { inner: std::io::stderr(), masks: masks.clone() }
}

#[derive(Debug)]
pub(crate) struct Masked<W> {
    inner: W,
    masks: Masks,
}

impl<W: Write> Write for Masked<W> {
    /// A line comes whole.
    fn write(&mut self, line: &[u8]) -> std::io::Result<usize> {
        match std::str::from_utf8(line) {
            Ok(text) => self.inner.write_all(self.masks.line(text).as_bytes())?,
            Err(_) => self.inner.write_all(line)?,
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.inner.flush()
    }
}
