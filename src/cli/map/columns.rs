//! Rows as output: the run's first object in input order decides the columns, whatever chunk it is in.
//!
//! Until that is known a chunk takes its columns from its own first object and says so in its note. In order, the first note
//! becomes the run's, and a chunk whose note says otherwise is run again, with the columns that are then known.

use std::borrow::Cow;
use std::sync::{Mutex, OnceLock, PoisonError};

use inorder::{BoxError, Buffer, Commit, Committed, Format, Record, RunState};
use jaq_json::Val;

use super::fault::Fault;
use super::layout::Layout;
use super::print;

/// What a run to CSV or TSV shares.
#[derive(Debug)]
pub struct Columns {
    format: Format,
    /// Whether a header is written.
    headed: bool,
    given: bool,
    decided: OnceLock<Layout>,
    /// The input's header, where rows of input and output are written alike.
    input: Mutex<Option<InputHeader>>,
}

#[derive(Debug)]
struct InputHeader {
    raw: Vec<u8>,
    end: Vec<u8>,
    layout: Layout,
}

impl Columns {
    pub fn new(format: Format, headed: bool, given: Option<Layout>) -> Columns {
        let columns = Columns {
            format,
            headed,
            given: given.is_some(),
            decided: OnceLock::new(),
            input: Mutex::new(None),
        };
        if let Some(layout) = given {
            columns.decide(layout);
        }
        columns
    }

    /// Takes in the input's header: it is written as it stands if the output has the same columns.
    pub fn learn(&self, header: &Record<'_>, keys: Layout) {
        *self.input.lock().unwrap_or_else(PoisonError::into_inner) = Some(InputHeader {
            raw: header.raw().to_vec(),
            end: header.end().to_vec(),
            layout: keys,
        });
    }

    /// What a chunk, or a part of one, writes with, as far as it is known. `input` is the layout of the input's rows.
    pub fn for_chunk(&self, input: Option<Layout>, out: &Buffer) -> ChunkColumns {
        let noted = Note::of(out.noted()).and_then(Note::layout);
        let mut columns = ChunkColumns {
            input,
            layout: None,
            tentative: None,
            as_input: false,
        };
        if let Some(layout) = noted.or_else(|| self.decided.get().cloned()) {
            columns.as_input = columns.input.as_ref() == Some(&layout);
            columns.layout = Some(layout);
        }
        columns
    }

    /// In order: whether the chunk wrote with the run's columns, and the header before the first row.
    pub fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        if self.given {
            return match self.decided.get() {
                Some(layout) if run.get().is_empty() && chunk.bytes_out > 0 => {
                    self.begin(run, layout.to_bytes(b"\n"))
                }
                _ => Commit::Write,
            };
        }
        let Some(note) = Note::of(chunk.note) else {
            return Commit::Write;
        };
        if run.get().is_empty() {
            return match note.layout {
                [] => Commit::Write,
                layout => self.begin(run, layout.to_vec()),
            };
        }
        let decided = Layout::from_bytes(run.get()).map(|(layout, _)| layout);
        if !note.guessed && decided == note.layout() {
            return Commit::Write;
        }
        match decided {
            Some(decided) => self.decide(decided),
            None => return Commit::Fail("the run's columns are not understood".into()),
        }
        Commit::RunAgain
    }

    /// These are the run's columns from now on.
    fn begin(&self, run: &mut RunState, bytes: Vec<u8>) -> Commit {
        let Some((layout, end)) = Layout::from_bytes(&bytes) else {
            return Commit::Fail("the columns of a chunk are not understood".into());
        };
        let header = match self.header(&layout, end) {
            Ok(header) => header,
            Err(error) => return Commit::Fail(error),
        };
        self.decide(layout);
        run.set(bytes);
        Commit::WriteAfter(header)
    }

    /// Writes the header of an output that has no rows: that of the input, or of the columns that were named.
    pub fn finish(&self, run: &RunState, out: &mut Buffer) -> Result<(), BoxError> {
        if !run.get().is_empty() || !self.headed {
            return Ok(());
        }
        let header = match self.decided.get() {
            Some(layout) => self.header(layout, b"\n")?,
            None => {
                let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
                input
                    .as_ref()
                    .map_or_else(Vec::new, |input| input.raw.clone())
            }
        };
        std::io::Write::write_all(out, &header)?;
        Ok(())
    }

    fn decide(&self, layout: Layout) {
        // Only the ordered stage decides, and never otherwise than before.
        let _ = self.decided.set(layout);
    }

    /// The header line of these columns; nothing where there is none.
    fn header(&self, layout: &Layout, end: &[u8]) -> Result<Vec<u8>, BoxError> {
        let (true, Some(names)) = (self.headed, layout.names()) else {
            return Ok(Vec::new());
        };
        let input = self.input.lock().unwrap_or_else(PoisonError::into_inner);
        let end = match &*input {
            Some(input) if input.layout == *layout => return Ok(input.raw.clone()),
            Some(input) if !input.end.is_empty() => &input.end,
            _ if end.is_empty() => &b"\n"[..],
            _ => end,
        };
        let mut header = self.format.row(names)?;
        header.extend_from_slice(end);
        Ok(header)
    }
}

/// What a chunk leaves for the ordered stage, where it did not know the run's columns.
#[derive(Clone, Copy)]
struct Note<'n> {
    /// A record has failed while the columns were not known: with the run's it might not.
    guessed: bool,
    /// The layout as bytes; empty if no record has decided one.
    layout: &'n [u8],
}

impl<'n> Note<'n> {
    fn of(note: &'n [u8]) -> Option<Note<'n>> {
        let (guessed, layout) = note.split_first()?;
        Some(Note {
            guessed: *guessed == 1,
            layout,
        })
    }

    fn layout(self) -> Option<Layout> {
        Layout::from_bytes(self.layout).map(|(layout, _)| layout)
    }
}

/// The columns that one chunk writes with.
pub struct ChunkColumns {
    input: Option<Layout>,
    layout: Option<Layout>,
    /// Taken from the record at work, which may still fail, and whether a record before it has failed with such columns.
    tentative: Option<(Layout, bool)>,
    as_input: bool,
}

impl ChunkColumns {
    /// The layout for this value.
    pub fn layout(&mut self, value: &Val, out: &mut Buffer) -> Result<&Layout, Fault> {
        if let Some(layout) = &self.layout {
            return Ok(layout);
        }
        if self.tentative.is_none() {
            let guessed = !out.noted().is_empty();
            // Holds if the record fails; `settle` replaces it.
            out.note(&[1]);
            let layout = Layout::of(value)?;
            self.as_input = self.input.as_ref() == Some(&layout);
            self.tentative = Some((layout, guessed));
        }
        match &self.tentative {
            Some((layout, _)) => Ok(layout),
            None => Err(Fault::Columns("the columns are not known".to_owned())),
        }
    }

    /// Whether rows of the output are made like those of the input.
    pub fn are_those_of_the_input(&self) -> bool {
        self.as_input
    }

    /// The record's work is done: the columns that it has decided hold for the chunk. `end` is the record's.
    pub fn settle(&mut self, end: &[u8], out: &mut Buffer) {
        if let Some((layout, guessed)) = self.tentative.take() {
            let mut note = vec![u8::from(guessed)];
            note.extend(layout.to_bytes(end));
            out.note(&note);
            self.layout = Some(layout);
        }
    }
}

/// Writes a row.
pub fn write(layout: &Layout, value: &Val, out: &mut Buffer) -> Result<(), Fault> {
    let fields = layout
        .row(value)?
        .into_iter()
        .map(field)
        .collect::<Result<Vec<_>, _>>()?;
    out.row(fields)
        .map_err(|error| Fault::Filter(error.to_string()))
}

/// A value as a field: strings as they are, null as nothing, other values as JSON.
fn field(value: &Val) -> Result<Cow<'_, [u8]>, Fault> {
    match value {
        Val::Null => Ok(Cow::Borrowed(&[])),
        Val::TStr(text) | Val::BStr(text) => Ok(Cow::Borrowed(text)),
        other => {
            let mut text = Vec::new();
            print::json(&mut text, other, false)?;
            Ok(Cow::Owned(text))
        }
    }
}
