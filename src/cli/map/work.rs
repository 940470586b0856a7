//! The work of `map` on chunks and records.

use std::io::Write;
use std::ops::Range;

use bytes::Bytes;
use inorder::{BoxError, Buffer, Chunk, ChunkError, Commit, Committed, Process, Record, RunState};
use jaq_core::Ctx;
use jaq_json::Val;

use super::columns::{ChunkColumns, Columns, write};
use super::fault::Fault;
use super::filter::{Filter, context};
use super::functions::{Surroundings, Values};
use super::kept::Kept;
use super::layout::Layout;
use super::rows::Rows;
use super::same::unchanged;
use super::value::Value;
use super::variables::Variables;
use super::{json, print};
use crate::cli::args::FormatArg;
use crate::cli::voice::Speaker;

/// The process of `map`.
pub struct Map<'p> {
    pub filter: Filter,
    pub variables: &'p Variables,
    pub from: FormatArg,
    pub to: FormatArg,
    /// The columns, where the output has some.
    pub columns: Option<Columns>,
    pub keeps: bool,
    pub strings: bool,
    pub sort_keys: bool,
    pub speaker: Speaker,
}

impl Map<'_> {
    /// The layout of the input's rows, where the output's can be the same.
    fn input_layout(&self, rows: &Rows) -> Option<Layout> {
        if !self.keeps || !self.from.is_separated() {
            return None;
        }
        Some(match rows.keys() {
            Some(keys) => Layout::Named(keys.cloned().collect()),
            None => Layout::Positional,
        })
    }
}

/// What a worker keeps from one call to the next.
#[derive(Default)]
pub struct State {
    /// What text is made in.
    text: Vec<u8>,
    /// Of the chunk in which a record has failed.
    kept: Option<Kept>,
}

impl Process for Map<'_> {
    type State = State;

    fn start(&self) -> Result<State, BoxError> {
        Ok(State::default())
    }

    fn header(&self, header: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        let rows = Rows::new(header.header(), self.strings);
        if let (Some(columns), Some(layout)) = (&self.columns, self.input_layout(&rows)) {
            columns.learn(header, layout);
        }
        Ok(())
    }

    fn record(&self, _: &mut State, _: &Record<'_>, _: &mut Buffer) -> Result<(), BoxError> {
        Err("records are worked on by the chunk".into())
    }

    fn chunk(
        &self,
        state: &mut State,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        let kept = state.kept.take().filter(|kept| kept.has(chunk));
        let kept = kept.unwrap_or_else(|| Kept::of(chunk, self.strings));
        let rows = &kept.rows;
        let surroundings = Surroundings {
            lut: self.filter.lut(),
            env: &self.variables.env,
            input: Value::text(chunk.input().to_string_lossy().into_owned()),
            speaker: &self.speaker,
        };
        let columns = self.columns.as_ref();
        let mut work = ChunkWork {
            map: self,
            slab: &kept.slab,
            value: Val::Null,
            start: kept.start(),
            context: context(&surroundings, &self.variables.values),
            columns: columns.map(|columns| columns.for_chunk(self.input_layout(rows), out)),
            rows,
            text: &mut state.text,
        };
        let worked = chunk.try_each(out, |record, out| work.record(chunk, record, out));
        if let Err(ChunkError::Record(..)) = worked {
            state.kept = Some(kept);
        }
        worked
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        match &self.columns {
            Some(columns) => columns.commit(run, chunk),
            None => Commit::Write,
        }
    }

    fn finish(&self, run: &RunState, out: &mut Buffer) -> Result<(), BoxError> {
        match &self.columns {
            Some(columns) => columns.finish(run, out),
            None => Ok(()),
        }
    }
}

/// The work on one chunk.
struct ChunkWork<'c, 'p> {
    map: &'c Map<'p>,
    /// Bytes that the chunk is among, of which strings are slices.
    slab: &'c Bytes,
    /// The record at work. What the filter has not kept of the one before is used again.
    value: Val,
    /// Where the slab begins in its input.
    start: u64,
    context: Ctx<'c, Values>,
    rows: &'c Rows,
    columns: Option<ChunkColumns>,
    text: &'c mut Vec<u8>,
}

fn failed(fault: Fault) -> ChunkError {
    ChunkError::Whole(fault.told())
}

impl ChunkWork<'_, '_> {
    fn record(
        &mut self,
        chunk: &Chunk<'_>,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        self.read(record).map_err(failed)?;
        // The filter changes a copy while the value is held here.
        let value = self.value.clone();
        for output in self.map.filter.run(self.context.clone(), value) {
            // A filter may have more to give than there is room or time for.
            if chunk.is_stopping() {
                return Err(ChunkError::Stopped);
            }
            let output = output.map_err(failed)?;
            self.output(&output, record, out).map_err(failed)?;
            out.flush()
                .map_err(|error| ChunkError::Fatal(error.into()))?;
        }
        if let Some(columns) = &mut self.columns {
            columns.settle(record.end(), out);
        }
        Ok(())
    }

    fn output(&mut self, output: &Val, record: &Record<'_>, out: &mut Buffer) -> Result<(), Fault> {
        let kept = self.map.keeps && unchanged(&self.value, output);
        match &mut self.columns {
            Some(columns) => {
                let layout = columns.layout(output, out)?.clone();
                if kept && columns.are_those_of_the_input() {
                    out.keep(record);
                } else {
                    write(&layout, output, out)?;
                }
            }
            None if kept => out.keep(record),
            None => self.line(output, out)?,
        }
        Ok(())
    }

    fn read(&mut self, record: &Record<'_>) -> Result<(), Fault> {
        let place = self.place(record);
        let (value, slab) = (&mut self.value, self.slab);
        match self.map.from {
            FormatArg::Ndjson => json::read(value, slab, place),
            FormatArg::Csv | FormatArg::Tsv => self.rows.read(value, record, slab, place.start),
            FormatArg::Lines | FormatArg::Nul => {
                json::set_text(value, slab.slice(place));
                Ok(())
            }
        }
    }

    /// Where the record's content stands in the slab.
    fn place(&self, record: &Record<'_>) -> Range<usize> {
        let start = usize::try_from(record.offset() - self.start).unwrap_or(usize::MAX);
        start..start + record.bytes().len()
    }

    /// Writes a value that is no row.
    fn line(&mut self, value: &Val, out: &mut Buffer) -> Result<(), Fault> {
        let raw = matches!(self.map.to, FormatArg::Lines | FormatArg::Nul);
        match value {
            Val::TStr(text) | Val::BStr(text) if raw => {
                if self.map.to == FormatArg::Nul && text.contains(&0) {
                    return Err(Fault::Filter(
                        "a string with a NUL byte, which ends a record of the output".to_owned(),
                    ));
                }
                out.line(text);
            }
            value => {
                self.text.clear();
                print::json(self.text, value, self.map.sort_keys)?;
                out.line(self.text);
            }
        }
        Ok(())
    }
}
