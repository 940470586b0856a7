//! What the user names as the place for the result.

use std::fmt;
use std::io::Write;
use std::path::{Path, PathBuf};

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
        Sink {
            goal: Goal::File(path.into()),
        }
    }

    /// Standard output, written without the standard library's line buffering.
    pub fn stdout() -> Sink<'a> {
        Sink { goal: Goal::Stdout }
    }

    /// Any writer; it is flushed when the run has succeeded.
    pub fn writer(writer: impl Write + Send + 'a) -> Sink<'a> {
        Sink {
            goal: Goal::Writer(Box::new(writer)),
        }
    }

    /// Nowhere: for work whose result is not in the bytes that it writes.
    pub fn discard() -> Sink<'a> {
        Sink {
            goal: Goal::Discard,
        }
    }

    /// The path, if it is a file.
    #[cfg(unix)]
    pub(crate) fn path(&self) -> Option<&Path> {
        match &self.goal {
            Goal::File(path) => Some(path),
            _ => None,
        }
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
