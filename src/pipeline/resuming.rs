//! Keeps the state of a run, so that a later one can go on with it, and finds what an earlier one left.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::messages::output_error;
use super::settings::Settings;
use super::stages::Outputs;
use crate::checksum::Digest;
use crate::control::Control;
use crate::error::{BoxError, Error, ErrorKind, escaped};
use crate::format::Format;
use crate::frame::GoOn;
use crate::input::{Input, InputError, Origin, Recycler, Waker};
use crate::output::checkpoint::{Checkpoint, HeaderState, Identity, Summed};
use crate::output::keeper::Keeper;
use crate::output::part::Part;
use crate::output::store::Store;
use crate::output::target::{Place, Target, find};
use crate::output::{Fault, OutputError, Sink};
use crate::resume::Resume;
use crate::summary::Summary;
use crate::text::Encoding;

/// The state of the run that goes on, while it does.
pub(super) struct Resuming {
    path: PathBuf,
    /// What holds the output until it is whole, and what holds this: beside the file that a link leads to.
    pub part: PathBuf,
    pub checkpoint: PathBuf,
    settings: Vec<(String, String)>,
    every: Duration,
    saved: Instant,
    keeper: Keeper,
    /// What comes before the first chunk is written, or the place where the run goes on is found: before that the state that is there is
    /// the right one.
    pub begun: bool,
    pub header: Option<HeaderState>,
}

/// What makes a run one that can be gone on from.
pub(super) struct Resumed {
    pub resuming: Resuming,
    /// Where it goes on itself, if it does.
    pub from: Option<Checkpoint>,
}

/// What was found.
pub(super) enum Found<'a> {
    Run(Box<Outputs<'a>>),
    /// An earlier run had written all, and died while it gave the files their names. That is done now.
    Published(Box<Summary>),
}

/// Opens the output, and what an earlier run left of it.
pub(super) fn open<'a>(
    settings: &Settings,
    resume: &Resume,
    origins: &[Origin<'_>],
    sink: &Sink<'a>,
    control: &Arc<Control>,
) -> Result<Found<'a>, Error> {
    let inputs = input_paths(origins)?;
    let path = sink.path().ok_or_else(|| {
        cannot("the output must be a file: what is written elsewhere can't be gone on with")
    })?;
    let place = place_of(path)?;
    let compress = sink.compression();
    let mut settings_now = all_settings(settings, resume, &inputs);
    let named = compress.map(|compress| compress.named().to_string());
    settings_now.push((
        "compress".to_owned(),
        named.unwrap_or_else(|| "none".to_owned()),
    ));
    let store = Store::beside(&place).map_err(|fault| output_error(fault.of(path)))?;
    let rejects = settings.on_error.rejects();
    let files = Files::of(path, place, rejects)?;
    let opening = Opening {
        path: path.to_owned(),
        compress,
        store,
        files,
        settings: settings_now,
        every: resume.every,
        control: Arc::clone(control),
    };
    opening.open(settings, resume.restart)
}

/// All inputs, which must be files that can be read again.
fn input_paths(origins: &[Origin<'_>]) -> Result<Vec<PathBuf>, Error> {
    origins
        .iter()
        .map(|origin| match origin {
            Origin::Path(path) if path.metadata().is_ok_and(|data| data.is_file()) => {
                Ok(path.clone())
            }
            other => {
                let what = "a run can be resumed only if all its inputs are regular files";
                Err(cannot(what).path(&other.name()))
            }
        })
        .collect()
}

fn place_of(path: &Path) -> Result<Place, Error> {
    match find(path).map_err(output_error)? {
        Target::Replace(place) => Ok(place),
        Target::Direct(_) => {
            let what = "a run can be resumed only if its output is a regular file";
            Err(cannot(what).path(path))
        }
    }
}

fn cannot(what: &'static str) -> Error {
    Error::new(ErrorKind::Config, what)
}

/// Everything that the output depends on, by name.
fn all_settings(settings: &Settings, resume: &Resume, inputs: &[PathBuf]) -> Vec<(String, String)> {
    let mut all = resume.settings.clone();
    let inputs = inputs.iter().zip(1..);
    all.extend(inputs.map(|(path, n)| (format!("input {n}"), escaped(path))));
    let limit = match settings.limit {
        u64::MAX => "none".to_owned(),
        records => records.to_string(),
    };
    let name = |encoding: Option<Encoding>| encoding.map_or("none", Encoding::name).to_owned();
    let own = [
        ("header", settings.format.header.to_string()),
        ("skip-lines", settings.skip_lines.to_string()),
        ("limit", limit),
        ("decompress", settings.decompress.to_string()),
        ("encoding", name(settings.encoding)),
        ("output-encoding", name(settings.output_text())),
        ("preamble", format!("{:?}", settings.preamble)),
        ("output-header", settings.output_header.to_string()),
        ("blank-lines", settings.blank_lines.to_string()),
    ];
    all.extend(of_format("", &settings.format));
    all.extend(of_format("output ", settings.output()));
    all.extend(own.map(|(name, value)| (name.to_owned(), value)));
    all
}

/// A format and its dialect, for settings whose names begin so.
fn of_format(begin: &str, format: &Format) -> [(String, String); 4] {
    let dialect = format.dialect();
    let character = |byte: Option<u8>| match byte {
        Some(byte) => byte.escape_ascii().to_string(),
        None => "none".to_owned(),
    };
    let own = [
        ("format", format.name().to_owned()),
        (
            "delimiter",
            character(dialect.map(|dialect| dialect.delimiter)),
        ),
        (
            "quote",
            character(dialect.and_then(|dialect| dialect.quote)),
        ),
        (
            "double-quote",
            dialect.is_some_and(|dialect| dialect.doubling).to_string(),
        ),
    ];
    own.map(|(name, value)| (format!("{begin}{name}"), value))
}

/// A save to come, and those that are under way.
impl Resuming {
    /// Whether the state should be saved now. An error of the last save ends the run.
    pub fn is_due(&self) -> Result<bool, OutputError> {
        let idle = self
            .keeper
            .is_idle()
            .map_err(|fault| fault.of(&self.path))?;
        Ok(idle && self.saved.elapsed() >= self.every)
    }

    pub fn save(&mut self, checkpoint: &Checkpoint) -> Result<(), OutputError> {
        self.keeper.save(self.encode(checkpoint)?);
        self.saved = Instant::now();
        Ok(())
    }

    /// The settings that go into each checkpoint.
    pub fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// All is written: gives the files their names. A run that dies on the way is completed by the next.
    pub fn publish(self, checkpoint: &Checkpoint, parts: &[&Part]) -> Result<(), OutputError> {
        let bytes = self.encode(checkpoint)?;
        let path = self.path;
        let published = self.keeper.finish().and_then(|store| {
            for part in parts {
                part.settle()?;
            }
            store.save(&bytes)?;
            for part in parts {
                part.publish()?;
            }
            end(&store, parts)
        });
        published.map_err(|fault| fault.of(&path))
    }

    /// The run has failed, or was stopped: leaves what the next one needs.
    pub fn leave(
        self,
        checkpoint: Option<&Checkpoint>,
        parts: &[&Part],
    ) -> Result<(), OutputError> {
        let bytes = checkpoint
            .map(|checkpoint| self.encode(checkpoint))
            .transpose()?;
        let path = self.path;
        let left = self.keeper.finish().and_then(|store| {
            let Some(bytes) = bytes else {
                return Ok(());
            };
            for part in parts {
                part.sync()?;
            }
            store.save(&bytes)
        });
        left.map_err(|fault| fault.of(&path))
    }

    fn encode(&self, checkpoint: &Checkpoint) -> Result<Vec<u8>, OutputError> {
        encode(checkpoint).map_err(|fault| fault.of(&self.path))
    }
}

fn encode(checkpoint: &Checkpoint) -> Result<Vec<u8>, Fault> {
    let encoded = checkpoint.encode();
    encoded.map_err(|error| Fault::new("write", std::io::Error::from(error)))
}

/// The names are given: makes that outlive a power cut, and forgets the state.
fn end(store: &Store, parts: &[&Part]) -> Result<(), Fault> {
    for part in parts {
        part.sync_folder()?;
    }
    store.remove()
}

/// Whether the inputs are still what they were, as far as they were consumed. `output`: where it is published, what has become of an input
/// that it has taken the place of does not matter.
fn check_inputs(
    settings: &Settings,
    from: &Checkpoint,
    output: Option<&Place>,
    control: &Control,
) -> Result<(), Error> {
    for input in &from.inputs {
        let path = Path::new(&input.path);
        let refuse = |what: &str| Err(refused(path, format!("cannot be gone on with: {what}")));
        let failed =
            |what, error: BoxError| Error::new(ErrorKind::Input, what).path(path).because(error);
        let now = path
            .metadata()
            .map_err(|error| failed("cannot be opened", error.into()))?;
        if output.is_some_and(|output| output.is(&now)) {
            continue;
        }
        let is_empty = now.len() == 0;
        let now = (!is_empty).then(|| Identity::of(&now));
        // What has no size can have bytes all the same.
        if now == input.identity && (now.is_some() || input.summed.bytes == 0) {
            continue;
        }
        match (now, input.identity) {
            (now, then) if now.map(|now| now.length) == then.map(|then| then.length) => {
                let sum = sum(settings, path, input.summed.bytes, &control.waker);
                let sum = sum.map_err(|error| match error {
                    InputError::Stopped => Error::stopped(),
                    error => failed("cannot be read", error.into()),
                })?;
                if sum != input.summed {
                    return refuse("what was read of it has changed");
                }
            }
            (now, then) => {
                let length = |identity: Option<Identity>| identity.map_or(0, |it| it.length);
                let what = format!("it had {} bytes, and has {} now", length(then), length(now));
                return refuse(&what);
            }
        }
    }
    Ok(())
}

/// The checksum of an input's first bytes, as many as there are of them.
fn sum(settings: &Settings, path: &Path, length: u64, waker: &Waker) -> Result<Summed, InputError> {
    let recycler = Arc::new(Recycler::new(2, settings.block()));
    let options = settings.frame_options(false).open;
    let origin = Origin::Path(path.to_owned());
    let mut input = Input::open(origin, &options, &recycler, waker)?;
    let mut digest = Digest::default();
    input.go_to(length, Some(&mut digest))?;
    Ok(Summed {
        bytes: input.offset(),
        crc: digest.sum(),
    })
}

/// Where the reader goes on.
pub(super) fn place_to_go_on(from: &Checkpoint) -> Option<GoOn> {
    Some(GoOn {
        input: from.inputs.len().checked_sub(1)?,
        offset: from.position.offset,
        records: from.position.records,
        read: from.counters.records,
        seq: from.counters.chunks,
    })
}

pub(super) fn refused(path: &Path, what: impl Into<String>) -> Error {
    Error::new(ErrorKind::Refused, what.into()).path(path)
}

mod opening;

use opening::{Files, Opening};
