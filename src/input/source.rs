//! Where records come from.

use std::fmt;
use std::fs::{File, Metadata};
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ahead::Ahead;
use super::decode::Compression;
use super::regular::{Regular, State};

/// Where records come from: files, standard input, a reader, or bytes at hand.
///
/// Regular files are processed up to the length they have when they are opened. Everything else, and files of
/// length 0 such as those in `/proc`, is read as a stream until it ends.
pub struct Source<'a> {
    origins: Vec<Origin<'a>>,
}

impl<'a> Source<'a> {
    /// One file, or whatever else can be read under that path. No path is special: `-` is a file of that name.
    pub fn file(path: impl Into<PathBuf>) -> Source<'a> {
        Source::of(Origin::Path(path.into()))
    }

    /// Several files, one after the other. No record spans two of them.
    pub fn files<I>(paths: I) -> Source<'a>
    where
        I: IntoIterator,
        I::Item: Into<PathBuf>,
    {
        let origin = |path: I::Item| Origin::Path(path.into());
        Source {
            origins: paths.into_iter().map(origin).collect(),
        }
    }

    /// Standard input. If it is a regular file it is treated like one, from its current position on. Where that
    /// position stands afterwards is not specified: a program that reads on after this one may see any part of
    /// the file.
    pub fn stdin() -> Source<'a> {
        Source::of(Origin::Stdin)
    }

    /// Standard input, of which these bytes were read before: they come first. For programs that have to look at the beginning of
    /// a stream. The rest is read as a stream, also where it is a regular file.
    /// Nothing else may be left in the buffer of [`std::io::stdin`].
    pub fn stdin_after(bytes: Vec<u8>) -> Source<'a> {
        Source::of(Origin::StdinAfter(bytes))
    }

    /// A reader, read on a thread of its own. A `read` that waits can't be interrupted: a run that is stopped
    /// waits for it to return.
    pub fn reader(reader: impl Read + Send + 'a) -> Source<'a> {
        Source::of(Origin::Reader(Box::new(reader)))
    }

    /// Bytes at hand.
    pub fn bytes(bytes: &'a [u8]) -> Source<'a> {
        Source::of(Origin::Bytes(bytes))
    }

    /// These inputs, then those of `next`.
    ///
    /// ```
    /// use inorder::Source;
    /// let source = Source::file("first.csv").then(Source::stdin());
    /// ```
    #[must_use]
    pub fn then(mut self, next: Source<'a>) -> Source<'a> {
        self.origins.extend(next.origins);
        self
    }

    fn of(origin: Origin<'a>) -> Source<'a> {
        Source {
            origins: vec![origin],
        }
    }

    pub(crate) fn of_inputs(origins: Vec<Origin<'a>>) -> Source<'a> {
        Source { origins }
    }

    /// Whether one of these inputs is a compressed file.
    pub(crate) fn are_compressed(&self, which: std::ops::Range<usize>) -> bool {
        let mut some = self.origins.iter().skip(which.start).take(which.len());
        some.any(|origin| matches!(origin, Origin::Path(_)) && origin.is_compressed())
    }

    /// How many bytes there are to read, if that is known: all inputs are regular files with something in them, or bytes at hand, and,
    /// where they are to be [`unpacked`](crate::Builder::decompress), none is compressed.
    pub fn size(&self, unpacked: bool) -> Option<u64> {
        self.origins
            .iter()
            .map(|origin| origin.size(unpacked))
            .sum()
    }

    /// The inputs, in order.
    pub(crate) fn inputs(self) -> Vec<Origin<'a>> {
        self.origins
    }
}

impl fmt::Debug for Source<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.origins.iter().map(Origin::name);
        f.debug_list().entries(names).finish()
    }
}

/// One input that is not open yet.
pub(crate) enum Origin<'a> {
    Path(PathBuf),
    Stdin,
    /// With what was read of it before.
    StdinAfter(Vec<u8>),
    Reader(Box<dyn Read + Send + 'a>),
    Bytes(&'a [u8]),
    /// A compressed file that is being unpacked.
    Ahead(Box<Ahead>),
}

/// An open input, sorted by how it can be read.
pub(super) enum Opened<'a> {
    /// A regular file with something in it.
    Regular(Regular),
    /// Read in sequence until it ends: a pipe, a device, a file of unknown length.
    Stream(File),
    /// As `Stream`, after these bytes.
    #[cfg(unix)]
    StreamAfter(Vec<u8>, File),
    Reader(Box<dyn Read + Send + 'a>),
    Slice(&'a [u8]),
    Ahead(Box<Ahead>),
}

impl<'a> Origin<'a> {
    /// The name for messages: the path, or a word in angle brackets.
    pub fn name(&self) -> Arc<Path> {
        match self {
            Origin::Ahead(ahead) => return ahead.name(),
            Origin::Path(path) => path.as_path(),
            Origin::Stdin | Origin::StdinAfter(_) => Path::new("<stdin>"),
            Origin::Reader(_) => Path::new("<reader>"),
            Origin::Bytes(_) => Path::new("<bytes>"),
        }
        .into()
    }

    /// Whether the input is there, is no directory and may be opened, as far as that can be told without taking
    /// anything from it. For use before an output is made.
    pub fn check(&self) -> io::Result<()> {
        match self {
            Origin::Path(path) => {
                let metadata = no_directory(path.metadata()?)?;
                if metadata.is_file() {
                    File::open(path)?;
                }
            }
            #[cfg(unix)]
            Origin::Stdin | Origin::StdinAfter(_) => {
                no_directory(stdin()?.metadata()?)?;
            }
            #[cfg(not(unix))]
            Origin::Stdin | Origin::StdinAfter(_) => {}
            Origin::Reader(_) | Origin::Bytes(_) | Origin::Ahead(_) => {}
        }
        Ok(())
    }

    /// How many bytes there are to read, if that is known.
    pub fn size(&self, unpacked: bool) -> Option<u64> {
        if unpacked && self.is_compressed() {
            return None;
        }
        match self {
            Origin::Path(path) => {
                let data = path.metadata().ok()?;
                (data.is_file() && data.len() > 0).then_some(data.len())
            }
            Origin::Bytes(bytes) => Some(bytes.len() as u64),
            Origin::Stdin | Origin::StdinAfter(_) | Origin::Reader(_) | Origin::Ahead(_) => None,
        }
    }

    /// Whether the input, as far as that can be told without taking anything from it, is compressed.
    pub fn is_compressed(&self) -> bool {
        let mut start = Vec::new();
        let start = match self {
            Origin::Path(path) if path.metadata().is_ok_and(|data| data.is_file()) => {
                let read = File::open(path).and_then(|file| {
                    file.take(Compression::LONGEST as u64)
                        .read_to_end(&mut start)
                });
                match read {
                    Ok(_) => start.as_slice(),
                    Err(_) => &[],
                }
            }
            Origin::Bytes(bytes) => bytes,
            Origin::StdinAfter(bytes) => bytes,
            Origin::Path(_) | Origin::Stdin | Origin::Reader(_) | Origin::Ahead(_) => &[],
        };
        Compression::of_start(start).is_some()
    }

    pub(super) fn open(self) -> io::Result<Opened<'a>> {
        match self {
            Origin::Path(path) => sort(open_path(&path)?),
            #[cfg(unix)]
            Origin::Stdin => sort(stdin()?),
            #[cfg(not(unix))]
            Origin::Stdin => Ok(Opened::Reader(Box::new(io::stdin()))),
            #[cfg(unix)]
            Origin::StdinAfter(bytes) => Ok(Opened::StreamAfter(bytes, stdin()?)),
            #[cfg(not(unix))]
            Origin::StdinAfter(bytes) => Ok(Opened::Reader(Box::new(
                io::Cursor::new(bytes).chain(io::stdin()),
            ))),
            Origin::Reader(reader) => Ok(Opened::Reader(reader)),
            Origin::Bytes(bytes) => Ok(Opened::Slice(bytes)),
            Origin::Ahead(ahead) => Ok(Opened::Ahead(ahead)),
        }
    }
}

fn no_directory(metadata: Metadata) -> io::Result<Metadata> {
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    Ok(metadata)
}

fn sort<'a>(file: File) -> io::Result<Opened<'a>> {
    let metadata = no_directory(file.metadata()?)?;
    let start = State::of(&metadata);
    if !metadata.is_file() || start.length == 0 {
        return Ok(Opened::Stream(file));
    }
    let base = io::Seek::stream_position(&mut &file)?;
    if base >= start.length {
        return Ok(Opened::Stream(file));
    }
    Ok(Opened::Regular(Regular {
        file: Arc::new(file),
        base,
        start,
    }))
}

/// A descriptor of our own for standard input. Nothing buffered by `std::io::stdin` is lost unless the program has
/// read from that before.
#[cfg(unix)]
fn stdin() -> io::Result<File> {
    use std::os::fd::AsFd;
    Ok(File::from(io::stdin().as_fd().try_clone_to_owned()?))
}

/// Opens a path. A FIFO is opened at once and waited for when it is read, where that can be interrupted.
#[cfg(target_os = "linux")]
fn open_path(path: &Path) -> io::Result<File> {
    use std::os::unix::fs::{FileTypeExt, OpenOptionsExt};
    let mut options = File::options();
    options.read(true);
    if path.metadata()?.file_type().is_fifo() {
        options.custom_flags(rustix::fs::OFlags::NONBLOCK.bits() as i32);
    }
    options.open(path)
}

#[cfg(not(target_os = "linux"))]
fn open_path(path: &Path) -> io::Result<File> {
    File::open(path)
}
