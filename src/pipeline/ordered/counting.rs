//! The figures of what is written, and whether they add up.

use super::Ordered;
use crate::error::{Error, ErrorKind};
use crate::pool::{Done, Ended};
use crate::process::Process;
use crate::progress::Progress;
use crate::summary::Summary;

impl<P: Process> Ordered<'_, P> {
    pub(super) fn count(&mut self, mut done: Done, in_flight: usize) -> Result<(), Error> {
        let failed = self.failures.report(&mut done, &self.inputs)?;
        let summary = &mut self.summary;
        summary.add_chunk(done.worker, done.tally.busy);
        summary.processed += done.tally.processed;
        match self.failures.rejects() {
            true => summary.rejected += failed,
            false => summary.skipped += failed,
        }
        summary.retries += done.tally.retries;
        let end = done.ended.as_ref().map(Ended::place);
        summary.records += match end {
            None => done.place.records,
            Some(Some(place)) => place.index,
            Some(None) => done.tally.processed + failed,
        };
        if let Some(ended) = done.ended.take() {
            if let Some(place) = ended.place() {
                summary.bytes_in += place.start as u64;
                summary.lines += place.lines;
            }
            return Err(self.ended(&done, ended));
        }
        if done.tally.processed + failed != done.place.records {
            let what = format!(
                "a chunk of {} records gave {} results and {failed} failures",
                done.place.records, done.tally.processed
            );
            return Err(
                Error::new(ErrorKind::Internal, what).at(self.inputs.position_of_chunk(&done))
            );
        }
        summary.flaky_chunks += u64::from(done.is_flaky);
        self.summary.bytes_in += done.bytes;
        self.summary.lines += done.place.lines;
        self.inputs.advance(&mut done);
        if let Some(observer) = &self.observer {
            observer.progress(&self.progress(in_flight));
        }
        Ok(())
    }

    fn progress(&self, in_flight: usize) -> Progress {
        let summary = &self.summary;
        Progress {
            records: summary.records,
            bytes_in: summary.bytes_in,
            bytes_of_files: self.inputs.bytes_of_files(),
            bytes_out: summary.bytes_out,
            failed: summary.skipped + summary.rejected,
            retries: summary.retries,
            in_flight: in_flight as u64,
            input: self.inputs.index(),
        }
    }

    pub(super) fn note_flaky_chunks(&mut self) {
        let chunks = match self.summary.flaky_chunks {
            0 => return,
            1 => "1 chunk".to_owned(),
            chunks => format!("{chunks} chunks"),
        };
        self.note(format!(
            "{chunks} failed as a whole, though none of the records failed alone: what the parts gave is in the output"
        ));
    }
}

/// Every record that was read is in the output, or failed.
pub(super) fn balance(summary: &Summary) -> Result<(), Error> {
    let ended = summary.processed + summary.skipped + summary.rejected;
    if summary.records == ended {
        return Ok(());
    }
    let what = format!(
        "{} records were read, but {} were processed, {} skipped and {} rejected",
        summary.records, summary.processed, summary.skipped, summary.rejected
    );
    Err(Error::new(ErrorKind::Internal, what))
}
