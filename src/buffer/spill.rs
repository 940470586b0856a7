//! Output that is too large for memory.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom, Write};
use std::path::Path;

use crate::output::spill_file;

/// The first part of a buffer's own bytes, in an unlinked temporary file.
#[derive(Default)]
pub(super) struct Spill {
    pub file: Option<File>,
    pub len: u64,
    pub last: Option<u8>,
    pub failed: Option<io::Error>,
}

impl Spill {
    pub fn append(&mut self, bytes: &[u8], near: Option<&Path>) -> io::Result<()> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(spill_file(near)?),
        };
        file.write_all(bytes)?;
        self.len += bytes.len() as u64;
        self.last = bytes.last().copied().or(self.last);
        Ok(())
    }

    pub fn truncate(&mut self, len: u64) -> io::Result<()> {
        self.len = len;
        self.last = None;
        let Some(file) = &mut self.file else {
            return Ok(());
        };
        file.set_len(len)?;
        if let Some(before) = len.checked_sub(1) {
            file.seek(SeekFrom::Start(before))?;
            let mut last = [0];
            file.read_exact(&mut last)?;
            self.last = Some(last[0]);
        }
        file.seek(SeekFrom::Start(len)).map(drop)
    }
}
