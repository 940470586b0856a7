//! Records with bytes that mean nothing in the input's encoding: they fail, and those between them are worked on.

use super::attempt::Attempt;
use super::failure::Ended;
use crate::error::FailureKind;
use crate::frame::Chunk;
use crate::process::Process;

impl<P: Process> Attempt<'_, P> {
    /// Works on a part of the chunk, but for the records that are malformed.
    pub(super) fn sound_part(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        let framed = self.framed;
        let place = |at: u64| (at - framed.offset) as usize;
        let range = chunk.range();
        let mut malformed = framed
            .malformed
            .iter()
            .filter(|malformed| range.contains(&place(malformed.at)))
            .peekable();
        if malformed.peek().is_none() {
            return self.part(chunk, records);
        }
        let first = chunk.first_number() - 1 - framed.first;
        let (mut done, mut start) = (0, range.start);
        for (span, index) in chunk.spans().zip(0..) {
            let record = range.start + span.start..range.start + span.end;
            // In a blank line before it, say.
            while malformed
                .next_if(|bad| place(bad.at) < record.start)
                .is_some()
            {}
            let Some(bad) = malformed.next_if(|bad| place(bad.at) < record.end) else {
                continue;
            };
            while malformed
                .next_if(|bad| place(bad.at) < record.end)
                .is_some()
            {}
            self.part_or_gap(&chunk.part(start..record.start, done), index - done)?;
            let failure = self.failure(
                first + index,
                1,
                record.start,
                FailureKind::Encoding,
                Box::new(*bad),
            );
            self.fail(failure)?;
            (done, start) = (index + 1, record.end);
        }
        self.part_or_gap(&chunk.part(start..range.end, done), records - done)
    }

    fn part_or_gap(&mut self, chunk: &Chunk<'_>, records: u64) -> Result<(), Ended> {
        if records > 0 {
            return self.part(chunk, records);
        }
        self.output.gap(chunk.range());
        Ok(())
    }
}
