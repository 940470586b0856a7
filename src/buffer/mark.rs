//! Where a record begins in the buffer, so that what a failing one wrote can be taken back.

use std::ops::Range;

use super::{Buffer, Mark};
use crate::error::BoxError;

impl Buffer {
    /// A record's work begins: what it writes can be taken back.
    #[inline]
    pub(crate) fn begin(&mut self, index: u64, span: Range<usize>, end: &[u8]) {
        let end = self.settings.ends.of(end);
        self.lacks_end = false;
        self.end_len = end.len();
        self.end[..end.len()].copy_from_slice(end);
        self.mark = Some(Mark {
            index,
            span,
            own: self.own_len(),
            kept: self.kept.len(),
            run: self.run.clone(),
            note: None,
        });
    }

    /// The last begun record's work is done. Gives the record's place in its chunk, if there was one.
    #[inline]
    pub(crate) fn end(&mut self) -> Option<u64> {
        self.mark.take().map(|mark| mark.index)
    }

    /// What was written so far must be whole text of the output's encoding.
    #[inline]
    pub(crate) fn settle_text(&mut self) -> Result<(), BoxError> {
        match &mut self.transcoder {
            None => Ok(()),
            Some(transcoder) => Ok(transcoder.settle(&mut self.own)?),
        }
    }

    /// Takes back what the record at work has written, and says which it was.
    pub(crate) fn take_back(&mut self) -> Option<Mark> {
        let mark = self.mark.take()?;
        if let Some(transcoder) = &mut self.transcoder {
            transcoder.reset();
        }
        self.kept.truncate(mark.kept);
        self.run = mark.run.clone();
        if let Some(note) = &mark.note {
            self.note.clone_from(note);
        }
        if mark.own >= self.spill.len {
            self.own.truncate((mark.own - self.spill.len) as usize);
        } else {
            self.own.clear();
            if let Err(error) = self.spill.truncate(mark.own) {
                self.spill.failed = Some(error);
            }
        }
        Some(mark)
    }

    /// Takes back what the record at work has written: the last one that is done is the one before it.
    pub(crate) fn forget(&mut self, index: u64) {
        self.take_back();
        if let Some(before) = index.checked_sub(1) {
            self.begin(before, 0..0, &[]);
        }
    }

    /// A point to return to by [`return_to`](Buffer::return_to).
    pub(crate) fn point(&mut self) -> Mark {
        Mark {
            index: 0,
            span: 0..0,
            own: self.own_len(),
            kept: self.kept.len(),
            run: self.run.clone(),
            note: Some(self.note.clone()),
        }
    }

    /// Takes back everything written since that point, and the note.
    pub(crate) fn return_to(&mut self, point: Mark) {
        self.mark = Some(point);
        self.take_back();
    }

    /// Cuts the closed buffer off after so many bytes of what it would write.
    pub(crate) fn cut(&mut self, len: u64) {
        let mut slices = 0;
        let mut kept = 0;
        for slice in &mut self.kept {
            // Where it stands in what is written.
            let start = slice.at + slices;
            if start >= len {
                break;
            }
            let size = (slice.range.len() as u64).min(len - start);
            slice.range.end = slice.range.start + size as usize;
            slices += size;
            kept += 1;
        }
        self.kept.truncate(kept);
        let own = (len - slices).min(self.own_len());
        match own.checked_sub(self.spill.len) {
            Some(own) => self.own.truncate(own as usize),
            None => {
                self.own.clear();
                self.spill.len = own;
            }
        }
    }

    /// Passes on blank lines, which are no records.
    #[inline]
    pub(crate) fn gap(&mut self, range: Range<usize>) {
        if range.is_empty() || !self.settings.blank_lines {
            return;
        }
        if self.transcoder.is_some()
            && let Some(input) = self.input.clone()
        {
            return self.push(&input[range]);
        }
        if self.run.end == range.start && !self.run.is_empty() {
            self.run.end = range.end;
        } else {
            self.settle_run();
            self.run = range;
        }
    }
}
