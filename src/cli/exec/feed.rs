//! What a process that lives on is given, record by record, ahead of its answers.

use inorder::{Chunk, Record};

/// The records are sent in stretches of about this.
const STRETCH: usize = 64 << 10;

/// Said of a record that no process is given: one that reads lines would wait for the rest of this one, and all would wait for its answer.
pub const CR_ALONE: &str = "a record that ends with CR alone can't be given to a --persistent command, which would wait for the rest of the line";

/// Whether it is such a record.
pub fn ends_with_cr_alone(record: &Record<'_>) -> bool {
    record.end() == b"\r"
}

/// The records of a chunk, from one on, up to the next that can't be given out.
pub struct Feed<'c> {
    bytes: &'c [u8],
    offset: u64,
    records: Box<dyn Iterator<Item = Record<'c>> + 'c>,
    next: Option<Record<'c>>,
    /// What is being sent, and the end that is added where the last record has none.
    parts: [&'c [u8]; 2],
    end: &'static [u8],
    /// Records that are given out and not answered.
    pub owed: u64,
    /// So many more may be given out.
    pub allowed: u64,
}

impl<'c> Feed<'c> {
    /// From record `index` of the chunk on. `end`: of a record.
    pub fn new(chunk: &Chunk<'c>, index: u64, end: &'static [u8]) -> Feed<'c> {
        let skipped = usize::try_from(index).unwrap_or(usize::MAX);
        Feed {
            bytes: chunk.bytes(),
            offset: chunk.offset(),
            records: Box::new(
                chunk
                    .records()
                    .skip(skipped)
                    .take_while(|record| !ends_with_cr_alone(record)),
            ),
            next: None,
            parts: [&[], &[]],
            end,
            owed: 0,
            allowed: 0,
        }
    }

    /// A header alone, which is answered by one.
    pub fn header(header: &'c [u8]) -> Feed<'c> {
        Feed {
            bytes: header,
            offset: 0,
            records: Box::new(std::iter::empty()),
            next: None,
            parts: [header, &[]],
            end: &[],
            owed: 1,
            allowed: 0,
        }
    }

    /// What is to be sent next; empty if nothing is for now.
    pub fn front(&mut self) -> &'c [u8] {
        if self.parts.iter().all(|part| part.is_empty()) {
            self.refill();
        }
        let part = usize::from(self.parts[0].is_empty());
        self.parts[part]
    }

    /// So much of the front is sent.
    pub fn sent(&mut self, n: usize) {
        let part = usize::from(self.parts[0].is_empty());
        self.parts[part] = &self.parts[part][n..];
    }

    /// Takes records that touch each other: blank lines between them are none.
    fn refill(&mut self) {
        let mut stretch: Option<(usize, usize)> = None;
        while self.allowed > 0 {
            let Some(record) = self.next.take().or_else(|| self.records.next()) else {
                break;
            };
            let start = usize::try_from(record.offset() - self.offset).unwrap_or(usize::MAX);
            let end = start + record.raw().len();
            match stretch {
                Some((from, to)) if to == start && end - from <= STRETCH => {
                    stretch = Some((from, end));
                }
                Some(_) => {
                    self.next = Some(record);
                    break;
                }
                None => stretch = Some((start, end)),
            }
            self.owed += 1;
            self.allowed -= 1;
            if record.end().is_empty() {
                self.parts[1] = self.end;
                break;
            }
        }
        if let Some((from, to)) = stretch {
            self.parts[0] = &self.bytes[from..to];
        }
    }
}
