//! What the output has beside the results: what stands before the first record and after the last one.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use super::Ordered;
use crate::buffer::{Buffer, BufferSettings};
use crate::error::{BoxError, Error, ErrorKind};
use crate::frame::{InputInfo, Preface};
use crate::pipeline::messages::output_error;
use crate::pipeline::options::Preamble;
use crate::pool::panicked;
use crate::process::{Process, RunState};
use crate::record::Header;

impl<P: Process> Ordered<'_, P> {
    /// Writes what stands before the first record.
    pub fn begin(
        &mut self,
        preface: &Preface,
        output_header: bool,
        preamble: Preamble,
        buffers: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        let header = preface.header.as_deref();
        let with_header = header.and_then(|info| Some((info, info.header.as_ref()?)));
        let written = output_header || with_header.is_none();
        if written {
            self.write(preamble.of(&preface.preamble))?;
        }
        if let Some((info, header)) = with_header {
            // It is made where it is not to be written too: the process may learn from it.
            let mut buffer = self.header(info, header, preface.header_lacks_end, buffers)?;
            #[cfg(unix)]
            self.keep_header(&mut buffer, preface.header_lacks_end)?;
            if written {
                self.write_buffer(&mut buffer, None)?;
            }
        }
        #[cfg(unix)]
        self.begun();
        Ok(())
    }

    /// The header that the work gives.
    pub(super) fn header(
        &self,
        info: &InputInfo,
        header: &Header,
        lacks_end: bool,
        buffers: &Arc<BufferSettings>,
    ) -> Result<Buffer, Error> {
        let mut record = header.as_record(&info.name);
        let with_end;
        if lacks_end {
            with_end = [header.raw(), b"\n"].concat();
            record.raw = &with_end;
        }
        let made = self.aside(buffers, record.end(), |process, _, out| {
            process.header(&record, out)
        })?;
        made.map_err(|error| {
            if self.control.is_aborted() {
                return Error::stopped();
            }
            Error::new(ErrorKind::Process, "the header failed")
                .path(&info.name)
                .because(error)
        })
    }

    /// Writes what stands after the last record.
    pub fn finish(&mut self, buffers: &Arc<BufferSettings>) -> Result<(), Error> {
        let made = self.aside(buffers, buffers.default_end, |process, run, out| {
            process.finish(run, out)
        })?;
        let mut buffer = made.map_err(|error| {
            if self.control.is_aborted() {
                return Error::stopped();
            }
            Error::new(ErrorKind::Process, "the end of the output failed").because(error)
        })?;
        self.write_buffer(&mut buffer, None)
    }

    /// What the process writes beside the records, its lines with this `end`.
    fn aside(
        &self,
        buffers: &Arc<BufferSettings>,
        end: &[u8],
        work: impl FnOnce(&P, &RunState, &mut Buffer) -> Result<(), BoxError>,
    ) -> Result<Result<Buffer, BoxError>, Error> {
        let mut buffer = Buffer::new(None, Arc::clone(buffers));
        buffer.begin(0, 0..0, end);
        let (process, run) = (&self.process, &self.run);
        let made = catch_unwind(AssertUnwindSafe(|| work(process, run, &mut buffer)));
        let made = made.unwrap_or_else(|payload| Err(panicked(payload)));
        if let Err(error) = made.and_then(|()| buffer.settle_text()) {
            return Ok(Err(error));
        }
        buffer.end();
        let closed = buffer.close();
        closed.map_err(|error| output_error(buffers.spill_error(error)))?;
        Ok(Ok(buffer))
    }
}
