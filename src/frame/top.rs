//! What stands at the top of an input: skipped lines, a byte order mark, a header.

use memchr::memchr;

use crate::format::Framing;
use crate::frame::scan::{Scanner, Want};
use crate::frame::spans::Spans;
use crate::frame::{FrameOptions, Reason, TooLong};
use crate::input::{Input, More};
use crate::record::Header;

/// A UTF-8 byte order mark.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The top of an input, taken off it.
#[derive(Debug, Default)]
pub(super) struct Top {
    /// Skipped lines, the mark, and blank lines before the header.
    pub preamble: Vec<u8>,
    pub header: Option<Header>,
}

/// Takes the top off an input. An error comes with its offset.
pub(super) fn read(input: &mut Input<'_>, options: &FrameOptions) -> Result<Top, (u64, Reason)> {
    let mut top = Reader {
        input,
        framing: options.format.framing,
        most: options.max_record_size,
        at_end: false,
    };
    let mut done = top.skip_lines(options.skip_lines)?;
    let format = &options.format;
    if done == 0 && matches!(format.framing, Framing::Csv(_) | Framing::Ndjson) {
        done = top.skip_mark()?;
    }
    let header = match (format.dialect(), format.header) {
        (Some(_), true) => top.find_header(&mut done, format.framing)?,
        _ => None,
    };
    let preamble = top.take(done);
    let header = match (header, format.dialect()) {
        (Some(len), Some(dialect)) => {
            let offset = top.input.offset();
            let raw = top.take(len);
            let content = Spans::new(&raw, format.framing)
                .next()
                .map_or(raw.len(), |span| span.content_end);
            Some(Header::new(raw, content, offset, dialect))
        }
        _ => None,
    };
    Ok(Top { preamble, header })
}

struct Reader<'r, 'a> {
    input: &'r mut Input<'a>,
    framing: Framing,
    most: usize,
    at_end: bool,
}

impl Reader<'_, '_> {
    /// The length of the first `lines` lines.
    fn skip_lines(&mut self, lines: u64) -> Result<usize, (u64, Reason)> {
        let mut done = 0;
        for _ in 0..lines {
            let mut seen = done;
            loop {
                let front = self.input.front();
                if let Some(at) = memchr(b'\n', &front[seen..]) {
                    self.check(done, seen + at + 1)?;
                    done = seen + at + 1;
                    break;
                }
                seen = front.len();
                if self.at_end {
                    self.check(done, seen)?;
                    return Ok(seen);
                }
                self.more(done)?;
            }
        }
        Ok(done)
    }

    fn skip_mark(&mut self) -> Result<usize, (u64, Reason)> {
        // More is asked for only while what is there may become a mark: a live stream is not kept waiting.
        while self.input.front().len() < BOM.len()
            && BOM.starts_with(self.input.front())
            && !self.at_end
        {
            self.more(self.input.front().len())?;
        }
        Ok(if self.input.front().starts_with(BOM) {
            BOM.len()
        } else {
            0
        })
    }

    /// The length of the header, which begins at `done` or after the blank lines there.
    fn find_header(
        &mut self,
        done: &mut usize,
        framing: Framing,
    ) -> Result<Option<usize>, (u64, Reason)> {
        let mut scanner = Scanner::new(framing);
        let want = Want {
            bytes: 1,
            records: 1,
            flush: false,
        };
        loop {
            let front = &self.input.front()[*done..];
            match scanner.cut(front, self.at_end, &want) {
                Some(cut) if cut.unclosed.is_some() => {
                    self.check(*done, *done + cut.len)?;
                    let opened = *done + cut.unclosed.unwrap_or_default();
                    return Err((self.input.offset() + opened as u64, Reason::HeaderUnclosed));
                }
                Some(cut) if cut.records > 0 => {
                    self.check(*done, *done + cut.len)?;
                    return Ok(Some(cut.len));
                }
                Some(cut) => *done += cut.len,
                None if self.at_end => return Ok(None),
                None => self.more(*done)?,
            }
        }
    }

    /// What lies between these places of the front must not be longer than a record may be.
    fn check(&self, start: usize, end: usize) -> Result<(), (u64, Reason)> {
        if end - start <= self.most {
            return Ok(());
        }
        let error = TooLong::new(&self.input.front()[start..end], self.framing, self.most);
        Err((self.input.offset() + start as u64, Reason::TooLong(error)))
    }

    /// Reads more; what began at `start` must not grow beyond the limit.
    fn more(&mut self, start: usize) -> Result<(), (u64, Reason)> {
        let have = self.input.front().len();
        self.check(start, have)?;
        match self
            .input
            .more(have.saturating_mul(2).max(super::current::READ_AHEAD))
        {
            Ok(More::Ready | More::Drained) => Ok(()),
            Ok(More::End) => {
                self.at_end = true;
                Ok(())
            }
            Err(error) => {
                // What came before the error is in the front.
                let read = self.input.front().len() as u64;
                Err((self.input.offset() + read, error.into()))
            }
        }
    }

    fn take(&mut self, len: usize) -> Vec<u8> {
        self.input.take(len).to_vec()
    }
}
