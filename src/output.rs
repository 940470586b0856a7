//! The end of the way: ordered bytes go to a file, to standard output, or to a writer.
//!
//! A file appears under its name only when it is whole. Until then its bytes are in a temporary file beside
//! it ([`publish`]), so a run that fails, or is killed, leaves the old file as it was and nothing new. What
//! cannot be replaced by a rename (a device, a FIFO, a socket, an inherited descriptor) is written directly
//! ([`direct`]); what was written there cannot be taken back.
//!
//! All that can be known about the target beforehand is found by [`Output::open`], before a byte is read.

use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Read, Write};
use std::path::{Path, PathBuf};

#[cfg_attr(not(unix), allow(dead_code))]
pub(crate) mod checkpoint;
#[cfg(unix)]
mod direct;
#[cfg(unix)]
mod hidden;
#[cfg(unix)]
pub(crate) mod keeper;
#[cfg(unix)]
mod mode;
mod outlet;
#[cfg_attr(not(any(feature = "gzip", feature = "zstd")), allow(dead_code))]
pub(crate) mod pack;
#[cfg(unix)]
pub(crate) mod part;
#[cfg(unix)]
mod publish;
#[cfg(not(unix))]
#[path = "output/portable.rs"]
mod publish;
mod rejects;
mod sink;
mod spill;
#[cfg(unix)]
pub(crate) mod store;
#[cfg(unix)]
pub(crate) mod target;
mod write;

#[cfg(all(test, target_os = "linux"))]
mod tests;

pub(crate) use outlet::{Lane, Outlet};
pub(crate) use pack::{BLOCK, Packer};
#[cfg(any(feature = "gzip", feature = "zstd"))]
pub use pack::{Compress, LevelError};
pub use rejects::Rejects;
pub(crate) use rejects::{Ends, OpenRejects};
pub use sink::Sink;
pub(crate) use spill::spill_file;

#[cfg(unix)]
use direct::Direct;
use publish::Unpublished;
use sink::Goal;

/// Bytes moved at a time from a spill file to the output.
const COPY_BLOCK: usize = 256 << 10;

/// An output that is ready to be written.
pub(crate) struct Output<'a> {
    name: PathBuf,
    way: Way<'a>,
}

/// How the bytes get out.
enum Way<'a> {
    Unpublished(Unpublished),
    #[cfg(unix)]
    Part(Box<part::Part>),
    #[cfg(unix)]
    Direct(Direct),
    Writer(Box<dyn Write + Send + 'a>),
    Discard,
}

impl<'a> Output<'a> {
    /// Finds the target and makes the temporary file, or says why that is impossible. An existing file is
    /// not touched. A FIFO blocks here until somebody reads it.
    pub(crate) fn open(sink: Sink<'a>) -> Result<Output<'a>, OutputError> {
        let name = sink.name().to_path_buf();
        let way = match sink.into_goal() {
            Goal::File(path) => file(&path)?,
            Goal::Stdout => stdout(&name)?,
            Goal::Writer(writer) => Way::Writer(writer),
            Goal::Discard => Way::Discard,
        };
        Ok(Output { name, way })
    }

    /// An output that a later run can go on with.
    #[cfg(unix)]
    pub(crate) fn of_part(name: &Path, part: part::Part) -> Output<'a> {
        Output {
            name: name.to_path_buf(),
            way: Way::Part(Box::new(part)),
        }
    }

    /// The part, if it is one.
    #[cfg(unix)]
    pub(crate) fn part(&self) -> Option<&part::Part> {
        match &self.way {
            Way::Part(part) => Some(part),
            _ => None,
        }
    }

    /// The path as it was given, or `<stdout>`, `<writer>`, `<discard>`: for messages.
    pub(crate) fn name(&self) -> &Path {
        &self.name
    }

    /// Whether what is written can still be taken back, or goes nowhere. Only then may bytes be written straight
    /// from a mapped input.
    pub(crate) fn can_be_taken_back(&self) -> bool {
        match self.way {
            Way::Unpublished(_) | Way::Discard => true,
            #[cfg(unix)]
            Way::Part(_) => true,
            _ => false,
        }
    }

    /// The folder the file will appear in: the place for spill files. `None`: the output is no file.
    pub(crate) fn folder(&self) -> Option<&Path> {
        match &self.way {
            Way::Unpublished(file) => Some(file.folder()),
            #[cfg(unix)]
            Way::Part(part) => Some(part.folder()),
            _ => None,
        }
    }

    /// The temporary file's name, where the file system could not make one without a name: to be removed by
    /// whoever ends the process without unwinding.
    pub(crate) fn temporary(&self) -> Option<PathBuf> {
        match &self.way {
            Way::Unpublished(file) => file.temporary(),
            _ => None,
        }
    }

    /// Writes all parts, in order. Short writes, interrupted ones, and a full non-blocking pipe are carried on
    /// with. After an error the output is of no more use.
    pub(crate) fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), OutputError> {
        let done = match &mut self.way {
            Way::Unpublished(file) => write::write_all(&mut file.file(), parts, write::never_busy),
            #[cfg(unix)]
            Way::Part(part) => part.write_all(parts),
            #[cfg(unix)]
            Way::Direct(direct) => direct.write_all(parts),
            Way::Writer(writer) => write::write_all(writer, parts, write::never_busy),
            Way::Discard => Ok(()),
        };
        done.map_err(|error| self.error("write", error))
    }

    /// The checksum of what is written until [`end_summed`](Output::end_summed) is known to the caller.
    pub(crate) fn begin_summed(&mut self) {
        #[cfg(unix)]
        if let Way::Part(part) = &mut self.way {
            part.begin_summed();
        }
    }

    pub(crate) fn end_summed(&mut self, sum: u32) {
        let _ = sum;
        #[cfg(unix)]
        if let Way::Part(part) = &mut self.way {
            part.end_summed(sum);
        }
    }

    /// Writes `len` bytes that follow the current position of `file`, a spill file.
    pub(crate) fn copy_from(&mut self, file: &mut File, len: u64) -> Result<(), OutputError> {
        if let Way::Discard = self.way {
            return Ok(());
        }
        pieces(file, len, |piece| {
            self.write_all(&mut [IoSlice::new(piece)])
        })
    }

    /// Hands on what a writer keeps back. Files and pipes keep nothing back.
    pub(crate) fn flush(&mut self) -> Result<(), OutputError> {
        match &mut self.way {
            Way::Writer(writer) => loop {
                match writer.flush() {
                    Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                    done => return done.map_err(|error| self.error("write", error)),
                }
            },
            _ => Ok(()),
        }
    }

    /// Makes the output final. A file is synced, renamed over its name, and its folder synced; if one of these
    /// fails, the old file stays and the new one goes (but for the folder's sync, after which the file is there
    /// and the error says that it may not outlive a power cut). Dropping an output without this leaves nothing.
    pub(crate) fn finish(mut self) -> Result<(), OutputError> {
        self.flush()?;
        let Output { name, way } = self;
        match way {
            Way::Unpublished(file) => file.finish().map_err(|fault| fault.of(&name)),
            #[cfg(unix)]
            Way::Direct(direct) => direct
                .finish()
                .map_err(|error| OutputError::new(&name, "write", error)),
            Way::Writer(_) | Way::Discard => Ok(()),
            // Parts are published together, by what keeps the run's checkpoint.
            #[cfg(unix)]
            Way::Part(_) => Ok(()),
        }
    }

    /// A second descriptor of a pipe or socket that is written directly, to poll for a reader that went away.
    #[cfg(unix)]
    pub(crate) fn closed_fd(&self) -> Option<std::os::fd::OwnedFd> {
        match &self.way {
            Way::Direct(direct) => direct.closed_fd(),
            _ => None,
        }
    }

    pub(crate) fn error(&self, what: &'static str, source: io::Error) -> OutputError {
        OutputError::new(&self.name, what, source)
    }
}

/// Reads `len` bytes that follow the current position of `file`, a spill file, piece by piece.
fn pieces(
    file: &mut File,
    len: u64,
    mut write: impl FnMut(&[u8]) -> Result<(), OutputError>,
) -> Result<(), OutputError> {
    let mut block = vec![0; COPY_BLOCK.min(usize::try_from(len).unwrap_or(COPY_BLOCK))];
    let mut left = len;
    while left > 0 {
        let want = block.len().min(usize::try_from(left).unwrap_or(COPY_BLOCK));
        file.read_exact(&mut block[..want])
            .map_err(OutputError::spill)?;
        write(&block[..want])?;
        left -= want as u64;
    }
    Ok(())
}

impl fmt::Debug for Output<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Output")
            .field("name", &self.name)
            .finish_non_exhaustive()
    }
}

#[cfg(unix)]
fn file<'a>(path: &Path) -> Result<Way<'a>, OutputError> {
    match target::find(path)? {
        target::Target::Replace(place) => {
            let file = Unpublished::create(place, true).map_err(|fault| fault.of(path))?;
            Ok(Way::Unpublished(file))
        }
        target::Target::Direct(file) => {
            direct_way(file).map_err(|error| OutputError::new(path, "open", error))
        }
    }
}

#[cfg(unix)]
fn stdout<'a>(name: &Path) -> Result<Way<'a>, OutputError> {
    direct::stdout()
        .and_then(direct_way)
        .map_err(|error| OutputError::new(name, "open", error))
}

#[cfg(unix)]
fn direct_way<'a>(file: File) -> io::Result<Way<'a>> {
    Ok(Way::Direct(Direct::new(file)?))
}

#[cfg(not(unix))]
fn file<'a>(path: &Path) -> Result<Way<'a>, OutputError> {
    let file = Unpublished::create(path).map_err(|fault| fault.of(path))?;
    Ok(Way::Unpublished(file))
}

#[cfg(not(unix))]
fn stdout<'a>(_: &Path) -> Result<Way<'a>, OutputError> {
    Ok(Way::Writer(Box::new(io::stdout())))
}

/// Why an output could not be opened, written or published.
#[derive(Debug)]
pub(crate) struct OutputError {
    /// The output, or the folder that is at fault.
    pub(crate) path: PathBuf,
    /// What could not be done: it completes "cannot ...".
    pub(crate) what: &'static str,
    /// What the system said.
    pub(crate) source: io::Error,
}

impl OutputError {
    fn new(path: &Path, what: &'static str, source: impl Into<io::Error>) -> OutputError {
        OutputError {
            path: path.to_path_buf(),
            what,
            source: source.into(),
        }
    }

    /// For an output that another thread gave up.
    pub(crate) fn stopped() -> OutputError {
        OutputError::new(Path::new("<output>"), "write", io::Error::other(Stopped))
    }

    pub(crate) fn is_stopped(&self) -> bool {
        let source = self.source.get_ref();
        source.is_some_and(|source| source.is::<Stopped>())
    }

    /// For a spill file that cannot be read back.
    pub(crate) fn spill(source: io::Error) -> OutputError {
        OutputError::new(Path::new("<spill file>"), "read back", source)
    }
}

impl fmt::Display for OutputError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "cannot {}", self.what)
    }
}

impl std::error::Error for OutputError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&self.source)
    }
}

/// The run was stopped while there was something to write.
#[derive(Debug)]
struct Stopped;

impl fmt::Display for Stopped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the run was stopped")
    }
}

impl std::error::Error for Stopped {}

/// An error on the way to publishing, before it is known under which name to report it.
#[derive(Debug)]
pub(crate) struct Fault {
    what: &'static str,
    source: io::Error,
    /// The folder, where that is what is at fault.
    folder: Option<PathBuf>,
}

impl Fault {
    pub(crate) fn new(what: &'static str, source: impl Into<io::Error>) -> Fault {
        Fault {
            what,
            source: source.into(),
            folder: None,
        }
    }

    fn in_folder(folder: &Path, what: &'static str, source: impl Into<io::Error>) -> Fault {
        Fault {
            what,
            source: source.into(),
            folder: Some(folder.to_path_buf()),
        }
    }

    pub(crate) fn of(self, name: &Path) -> OutputError {
        let path = self.folder.unwrap_or_else(|| name.to_path_buf());
        OutputError {
            path,
            what: self.what,
            source: self.source,
        }
    }
}
