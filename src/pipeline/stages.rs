//! The stages of a run, opened.

use std::sync::Arc;
use std::sync::atomic::AtomicUsize;

use super::failures::Failures;
use super::messages::output_error;
use super::ordered::Ordered;
use super::reading;
use super::resuming::{self, Resumed};
use super::settings::Settings;
use crate::buffer::BufferSettings;
use crate::control::Control;
use crate::error::{Error, ErrorKind};
use crate::frame::Framer;
#[cfg(unix)]
use crate::input::{GuardedLeft, GuardedTemporary, guard_left, guard_temporary};
use crate::input::{Origin, Recycler};
use crate::output::checkpoint::Checkpoint;
use crate::output::pack::Compress;
use crate::output::{Outlet, Output, Sink};
use crate::pool::Work;
use crate::process::Process;
use crate::progress::Started;

/// The stages of a run, not yet joined.
pub(super) struct Stages<'a, P: Process> {
    pub control: Arc<Control>,
    pub work: Arc<Work<P>>,
    pub ordered: Ordered<'a, P>,
    pub buffers: Arc<BufferSettings>,
    /// What an earlier run left, to go on from.
    from: Option<Checkpoint>,
    /// Where the process has to die over a mapped input, the output's temporary file goes.
    #[cfg(unix)]
    _temporary: Option<GuardedTemporary>,
    /// And what a later run can go on from is named.
    #[cfg(unix)]
    _left: Option<GuardedLeft>,
}

impl<'a, P: Process + Clone> Stages<'a, P> {
    /// Opens inputs and output; nothing is read.
    pub fn open(
        settings: &Settings,
        control: Arc<Control>,
        origins: Vec<Origin<'a>>,
        outputs: Outputs<'a>,
        process: P,
    ) -> Result<(Stages<'a, P>, Framer<'a>), Error> {
        let Outputs {
            output,
            compress,
            failures,
            resumed,
        } = outputs;
        #[cfg(unix)]
        if let Some(fd) = output.closed_fd() {
            control.waker.watch_closed(fd);
        }
        #[cfg(unix)]
        let temporary = match output.temporary() {
            Some(path) if settings.memory_map => guard_temporary(&path),
            _ => None,
        };
        #[cfg(unix)]
        let left = match &resumed {
            Some(Resumed { resuming, .. }) if settings.memory_map => {
                guard_left(&resuming.part, &resuming.checkpoint)
            }
            _ => None,
        };
        let recycler = Arc::new(Recycler::new(
            settings.threads + 2,
            settings.chunk_limit().saturating_mul(3) / 2,
        ));
        let buffers = Arc::new(BufferSettings {
            dialect: settings.dialect(),
            ends: settings.output().ends_for(&settings.format),
            default_end: settings.output().default_end(),
            blank_lines: settings.blank_lines,
            encoding: settings.output_text(),
            spill_at: settings.spill_at(),
            near: output.folder().map(ToOwned::to_owned),
            recycler: Arc::clone(&recycler),
            expected: AtomicUsize::new(0),
        });
        let work = Work::new(
            process.clone(),
            settings.policy(),
            settings.max_record_size,
            Arc::clone(&buffers),
            Arc::clone(&control),
            settings.observer.clone(),
            resumed.is_some(),
        );
        let total_bytes = origins.iter().map(|origin| origin.size(false)).sum();
        let framer = Framer::new(
            origins,
            // What can't be taken back must not be written straight from a map, whose bytes can change until the last
            // moment; and to read it is cheaper than to copy it out.
            settings.frame_options(settings.memory_map && output.can_be_taken_back()),
            recycler,
            Arc::clone(&control),
        );
        let observer = settings.observer.clone();
        let mut ordered = Ordered::new(
            process,
            Outlet::new(output, compress, settings.output_text()),
            observer,
            failures,
            framer.opened(),
            Arc::clone(&control),
        );
        ordered.started(&Started {
            total_bytes,
            threads: settings.threads,
            memory: settings.memory as u64,
        });
        let mut from = None;
        if let Some(resumed) = resumed {
            ordered.keep_state(resumed.resuming);
            from = resumed.from;
        }
        let stages = Stages {
            control,
            from,
            work: Arc::new(work),
            ordered,
            buffers,
            #[cfg(unix)]
            _temporary: temporary,
            #[cfg(unix)]
            _left: left,
        };
        Ok((stages, framer))
    }

    /// Reads the headers and writes what stands before the first record.
    pub fn begin(&mut self, settings: &Settings, framer: &mut Framer<'_>) -> Result<(), Error> {
        if let Some(from) = self.from.take() {
            return self.go_on(&from, framer);
        }
        let opened = reading(|| {
            framer.compare_headers()?;
            framer.open_first()
        });
        let opening = opened.map_err(|error| self.ordered.reader_failed(error))?;
        self.ordered.begin(
            &opening,
            settings.output_header,
            settings.preamble,
            &self.buffers,
        )
    }

    /// Reads the headers and finds the place where an earlier run stopped.
    fn go_on(&mut self, from: &Checkpoint, framer: &mut Framer<'_>) -> Result<(), Error> {
        let Some(place) = resuming::place_to_go_on(from) else {
            return Ok(());
        };
        let gone = reading(|| {
            framer.compare_headers()?;
            framer.go_on(&place)
        });
        let header = gone.map_err(|error| self.ordered.reader_failed(error))?;
        self.ordered.go_on(from, header.as_deref(), &self.buffers)
    }
}

/// Where the results of a run go.
pub(super) struct Outputs<'a> {
    pub output: Output<'a>,
    pub compress: Option<Compress>,
    pub failures: Failures,
    /// Where the run is one that can be gone on from.
    pub resumed: Option<Resumed>,
}

impl<'a> Outputs<'a> {
    /// Opens them; nothing is written.
    pub fn open(settings: &Settings, sink: Sink<'a>) -> Result<Outputs<'a>, Error> {
        Ok(Outputs {
            compress: sink.compression(),
            output: Output::open(sink).map_err(output_error)?,
            failures: Failures::open(settings)?,
            resumed: None,
        })
    }
}

/// Whether all inputs are there and may be opened.
pub(super) fn check_origins(origins: &[Origin<'_>]) -> Result<(), Error> {
    for origin in origins {
        origin.check().map_err(|error| {
            Error::new(ErrorKind::Input, "cannot be opened")
                .path(&origin.name())
                .because(error)
        })?;
    }
    Ok(())
}
