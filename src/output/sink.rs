//! What the user names as the place for the result.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

use super::pack::Compress;

/// Where the result of a run goes.
///
/// ```
/// use inorder::Sink;
///
/// let mut result = Vec::new();
/// let to_memory = Sink::writer(&mut result);
/// let to_a_file = Sink::file("result.csv");
/// ```
pub struct Sink<'a> {
    goal: Goal<'a>,
    compress: Option<Compress>,
}

/// The cases of a [`Sink`].
pub(crate) enum Goal<'a> {
    File(PathBuf),
    Stdout,
    Writer(Box<dyn Write + Send + 'a>),
    Discard,
}

impl<'a> Sink<'a> {
    /// A file, which appears under its name only when the run has succeeded.
    ///
    /// Until then the bytes are in a temporary file beside it, and a file that already stands there is left as
    /// it is; a run that fails leaves no trace. The new file takes the mode and, where the system lets it, the
    /// owner and the group of the old one (not its access control lists or extended attributes). A symbolic
    /// link stays, what it points to is replaced. A file that the caller may not write is not replaced. What
    /// cannot be replaced is written directly: a device, a FIFO, a socket, and an open descriptor such as
    /// `/dev/stdout` or `/dev/fd/3`. Opening a FIFO waits until somebody reads it.
    pub fn file(path: impl Into<PathBuf>) -> Sink<'a> {
        Sink::of(Goal::File(path.into()))
    }

    /// Standard output, written without the standard library's line buffering.
    pub fn stdout() -> Sink<'a> {
        Sink::of(Goal::Stdout)
    }

    /// Any writer; it is flushed when the run has succeeded.
    pub fn writer(writer: impl Write + Send + 'a) -> Sink<'a> {
        Sink::of(Goal::Writer(Box::new(writer)))
    }

    /// Nowhere: for work whose result is not in the bytes that it writes.
    pub fn discard() -> Sink<'a> {
        Sink::of(Goal::Discard)
    }

    /// Compresses what is written, on the run's threads.
    ///
    /// Each MiB of the output becomes a gzip member or a zstd frame of its own, which are to be read as one: what comes out
    /// depends on the output and the level alone, not on threads, chunks or timing. A live stream is therefore handed on a MiB
    /// at a time. An empty output is one empty member or frame.
    ///
    /// ```
    /// # #[cfg(feature = "gzip")] {
    /// use inorder::{Compress, Sink};
    /// let sink = Sink::file("result.csv.gz").compress(Compress::gzip());
    /// # }
    /// ```
    #[cfg(any(feature = "gzip", feature = "zstd"))]
    #[must_use]
    pub fn compress(mut self, compress: Compress) -> Sink<'a> {
        self.compress = Some(compress);
        self
    }

    fn of(goal: Goal<'a>) -> Sink<'a> {
        Sink {
            goal,
            compress: None,
        }
    }

    pub(crate) fn compression(&self) -> Option<Compress> {
        self.compress
    }

    /// The path, or a word in angle brackets, for messages.
    pub(crate) fn name(&self) -> &Path {
        match &self.goal {
            Goal::File(path) => path,
            Goal::Stdout => Path::new("<stdout>"),
            Goal::Writer(_) => Path::new("<writer>"),
            Goal::Discard => Path::new("<discard>"),
        }
    }

    pub(crate) fn into_goal(self) -> Goal<'a> {
        self.goal
    }
}

impl fmt::Debug for Sink<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Sink").field(&self.name()).finish()
    }
}
