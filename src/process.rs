//! The work: what happens to each record, each chunk, and in order.

use crate::buffer::Buffer;
use crate::error::BoxError;
use crate::frame::Chunk;
use crate::record::Record;

/// The work of a run. Implement it for state that is made once a worker and reused, a header of its own, work on whole
/// chunks, or decisions that need the order; for anything less, [`Pipeline::run_each`](crate::Pipeline::run_each) takes a closure.
///
/// `start`, `record` and `chunk` are called on worker threads of the run's private pool (the work of the first millisecond, and a sequential
/// run's, on one thread outside it), `header`, `commit` and `finish` on the writer's thread. All may wait, use rayon, and panic: a panic in
/// `record` or `chunk` is a failing record, elsewhere it ends the run.
pub trait Process: Sync {
    /// Checked out for one chunk at a time, put back after it, made anew after a panic.
    type State: Send;

    /// Makes a state, when more workers are at work than there are states.
    ///
    /// # Errors
    /// An error ends the run: no record is at fault.
    fn start(&self) -> Result<Self::State, BoxError>;

    /// Writes the output's header, once, before all else, if the format has a header and the input is not empty. By default the
    /// input's own header is kept. Where [`output_header`](crate::Builder::output_header) is off, what is written is thrown away.
    ///
    /// # Errors
    /// An error ends the run.
    fn header(&self, header: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        out.keep(header);
        Ok(())
    }

    /// Writes what stands after the last record, once, when all chunks of a run that comes to its end are written; lines end with LF
    /// (NUL by the format). `run` is what [`commit`](Process::commit) has decided. By default nothing is written.
    ///
    /// # Errors
    /// An error ends the run.
    fn finish(&self, run: &RunState, out: &mut Buffer) -> Result<(), BoxError> {
        let _ = (run, out);
        Ok(())
    }

    /// Works on one record.
    ///
    /// # Errors
    /// An error makes this a failing record: what it wrote is taken back, and [`OnError`](crate::OnError) decides.
    fn record(
        &self,
        state: &mut Self::State,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), BoxError>;

    /// Works on one chunk; by default on each record in turn, with [`Chunk::each`]. After a failing record it is called
    /// again with the rest of the chunk, so it must not expect to see a chunk whole.
    ///
    /// # Errors
    /// See [`ChunkError`]. What the attempt wrote is taken back, back to the failing record where one is named.
    fn chunk(
        &self,
        state: &mut Self::State,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        chunk.each(out, |record, out| self.record(state, record, out))
    }

    /// Is called for each chunk in input order, on the writer's thread, before the chunk is written. `run` is the run's
    /// own memory: empty at first, changed here only. It is asked, too, about what came before a failing record that ends the run.
    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        let _ = (run, chunk);
        Commit::Write
    }
}

/// A process can be used through a reference that is shared.
impl<P: Process + ?Sized> Process for &P {
    type State = P::State;

    fn start(&self) -> Result<P::State, BoxError> {
        (**self).start()
    }

    fn header(&self, header: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        (**self).header(header, out)
    }

    fn finish(&self, run: &RunState, out: &mut Buffer) -> Result<(), BoxError> {
        (**self).finish(run, out)
    }

    #[inline]
    fn record(
        &self,
        state: &mut P::State,
        record: &Record<'_>,
        out: &mut Buffer,
    ) -> Result<(), BoxError> {
        (**self).record(state, record, out)
    }

    #[inline]
    fn chunk(
        &self,
        state: &mut P::State,
        chunk: &Chunk<'_>,
        out: &mut Buffer,
    ) -> Result<(), ChunkError> {
        (**self).chunk(state, chunk, out)
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        (**self).commit(run, chunk)
    }
}

/// Why the work on a chunk failed.
#[derive(Debug)]
#[non_exhaustive]
pub enum ChunkError {
    /// The chunk failed and it is not known which record is at fault. Unless the run stops at failures, the chunk is
    /// halved until the failing records are alone.
    Whole(BoxError),
    /// The record with this index (from 0, in the chunk that was given) failed. Everything written before it is kept.
    /// Only [`Chunk::each`] knows what was written since; without it, name no record.
    Record(u64, BoxError),
    /// The run ends: no record is at fault, and other chunks would fare no better, e.g. because a service can't be reached.
    Fatal(BoxError),
    /// The run is stopping, and the chunk was left in its middle. [`Chunk::each`] returns this; pass it on.
    Stopped,
}

/// A small byte string that belongs to the ordered stage: what [`Process::commit`] has decided so far.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RunState(Vec<u8>);

impl RunState {
    /// What was last set; empty at the start of a run.
    pub fn get(&self) -> &[u8] {
        &self.0
    }

    /// Replaces the state.
    pub fn set(&mut self, state: impl Into<Vec<u8>>) {
        self.0 = state.into();
    }
}

/// A chunk whose turn it is to be written.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Committed<'a> {
    /// The chunk's sequence number, from 0.
    pub seq: u64,
    /// How many records of it were processed.
    pub processed: u64,
    /// What it wrote, in bytes.
    pub bytes_out: u64,
    /// What [`Buffer::note`] left; empty if nothing.
    pub note: &'a [u8],
}

/// What becomes of a chunk whose turn it is.
#[derive(Debug)]
#[non_exhaustive]
pub enum Commit {
    /// It is written.
    Write,
    /// These bytes are written, then the chunk.
    WriteAfter(Vec<u8>),
    /// Its result is thrown away and the chunk is worked on again. Only a chunk that left a [`Buffer::note`] still has its
    /// input; for another this ends the run.
    RunAgain,
    /// The run ends; everything before this chunk is written.
    Fail(BoxError),
}

/// What a closure may return: nothing, or a `Result` whose error becomes a failing record.
pub trait Outcome: sealed::Sealed {}

impl Outcome for () {}
impl<E: Into<BoxError>> Outcome for Result<(), E> {}

mod sealed {
    use crate::error::BoxError;

    pub trait Sealed {
        fn into_result(self) -> Result<(), BoxError>;
    }

    impl Sealed for () {
        fn into_result(self) -> Result<(), BoxError> {
            Ok(())
        }
    }

    impl<E: Into<BoxError>> Sealed for Result<(), E> {
        fn into_result(self) -> Result<(), BoxError> {
            self.map_err(Into::into)
        }
    }
}

/// A closure as a process.
pub(crate) struct Each<F>(pub F);

impl<F, R> Process for Each<F>
where
    F: Fn(&Record<'_>, &mut Buffer) -> R + Sync,
    R: Outcome,
{
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    #[inline]
    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        (self.0)(record, out).into_result()
    }
}
