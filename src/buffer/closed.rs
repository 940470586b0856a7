//! What becomes of a buffer when its chunk is done: it is weighed, summed and written.

use std::io::{self, IoSlice, Seek, SeekFrom};

use super::{Buffer, SLACK};
use crate::checksum::Digest;
use crate::input::Bytes;
use crate::output::{Outlet, OutputError};

impl Buffer {
    /// The work on the chunk is over; input that is not needed for the output is let go.
    pub(crate) fn close(&mut self) -> Result<(), io::Error> {
        self.settle_run();
        self.settings.expect(self.own.len());
        // Growing doubles; what is held until the write should not be half empty.
        if self.own.capacity() > SLACK && self.own.capacity() / 2 > self.own.len() {
            self.own.shrink_to_fit();
        }
        if self.kept.is_empty() && self.note.is_empty() {
            self.input = None;
        }
        match self.spill.failed.take() {
            Some(error) => Err(error),
            None => Ok(()),
        }
    }

    /// The chunk's bytes, if the buffer still holds them.
    pub(crate) fn input(&self) -> Option<&Bytes> {
        self.input.as_ref()
    }

    /// What was written and is no slice of the input.
    pub(crate) fn own_bytes(&self) -> usize {
        usize::try_from(self.own_len()).unwrap_or(usize::MAX)
    }

    /// Memory that the closed buffer holds.
    pub(crate) fn held(&self) -> usize {
        self.own.capacity() + self.input.as_ref().map_or(0, |input| input.len())
    }

    /// The checksum of everything, in its order. `input`: that of the whole chunk. `None`: a part is in a file.
    pub(crate) fn sum(&self, input: u32) -> Option<u32> {
        if self.spill.len > 0 {
            return None;
        }
        let bytes: &[u8] = self.input.as_deref().unwrap_or_default();
        if let [kept] = &self.kept[..]
            && self.own.is_empty()
            && kept.range == (0..bytes.len())
        {
            return Some(input);
        }
        let mut digest = Digest::default();
        let mut done = 0;
        for kept in &self.kept {
            let at = kept.at as usize;
            digest.update(&self.own[done..at]);
            digest.update(&bytes[kept.range.clone()]);
            done = at;
        }
        digest.update(&self.own[done..]);
        Some(digest.sum())
    }

    /// Writes everything in its order.
    pub(crate) fn write_to(&mut self, output: &mut Outlet<'_>) -> Result<(), OutputError> {
        let spilled = self.spill.len;
        if let Some(file) = &mut self.spill.file {
            file.seek(SeekFrom::Start(0))
                .map_err(|error| self.settings.spill_error(error))?;
        }
        let input: &[u8] = self.input.as_deref().unwrap_or_default();
        let total = spilled + self.own.len() as u64;
        let mut parts: Vec<IoSlice<'_>> = Vec::with_capacity(2 * self.kept.len() + 1);
        let mut done = 0;
        let borders = self
            .kept
            .iter()
            .map(|kept| (kept.at, kept.range.clone()))
            .chain(std::iter::once((total, 0..0)));
        for (at, range) in borders {
            if let Some(file) = &mut self.spill.file
                && done < spilled
                && done < at
            {
                output.write_all(&mut parts)?;
                parts.clear();
                let len = at.min(spilled) - done;
                output.copy_from(file, len)?;
                done += len;
            }
            if done < at {
                let start = (done - spilled) as usize;
                parts.push(IoSlice::new(&self.own[start..(at - spilled) as usize]));
                done = at;
            }
            if !range.is_empty() {
                parts.push(IoSlice::new(&input[range]));
            }
        }
        output.write_all(&mut parts)
    }
}
