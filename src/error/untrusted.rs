//! An error that reaches back.

use std::fmt;

use super::BoxError;

/// An error of the work (in [`ChunkError::Fatal`](crate::ChunkError::Fatal), or of [`Process::finish`](crate::Process::finish)) which says that
/// results which were written before may be wrong. What such a run leaves for [`resume`](crate::Builder::resume) is refused by the next
/// one, which can only [restart](crate::Resume::restart).
#[derive(Debug)]
pub struct Untrusted(BoxError);

impl Untrusted {
    /// It says what this error says.
    pub fn new(error: impl Into<BoxError>) -> Untrusted {
        Untrusted(error.into())
    }
}

impl fmt::Display for Untrusted {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for Untrusted {
    /// The error itself, so that it can be found in the chain.
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(&*self.0)
    }
}
