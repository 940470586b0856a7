//! A flag that is set once, and that a wait in `poll` can end with.

use std::sync::atomic::{AtomicBool, Ordering, fence};

#[cfg(unix)]
use std::{
    io::{self, PipeReader, PipeWriter, Write},
    os::fd::{AsFd, BorrowedFd},
    sync::{Mutex, OnceLock, PoisonError},
};

/// Set once; there is no way back.
#[derive(Debug, Default)]
pub(crate) struct Latch {
    set: AtomicBool,
    /// Made by the first wait: most runs need none.
    #[cfg(unix)]
    pipe: OnceLock<(PipeReader, PipeWriter)>,
    /// One thread makes it: where descriptors are few there may be none for a second.
    #[cfg(unix)]
    making: Mutex<()>,
}

impl Latch {
    pub fn set(&self) {
        self.set.store(true, Ordering::SeqCst);
        // Either the waiting side sees the flag, or this side sees its pipe.
        fence(Ordering::SeqCst);
        #[cfg(unix)]
        self.fill();
    }

    #[inline]
    pub fn is_set(&self) -> bool {
        self.set.load(Ordering::Relaxed)
    }
}

#[cfg(unix)]
impl Latch {
    /// Becomes readable when the flag is set, and stays so.
    pub fn readable(&self) -> io::Result<BorrowedFd<'_>> {
        if self.pipe.get().is_none() {
            let _making = self.making.lock().unwrap_or_else(PoisonError::into_inner);
            if self.pipe.get().is_none() {
                let _ = self.pipe.set(io::pipe()?);
            }
        }
        fence(Ordering::SeqCst);
        if self.is_set() {
            self.fill();
        }
        match self.pipe.get() {
            Some((reader, _)) => Ok(reader.as_fd()),
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }

    fn fill(&self) {
        if let Some((_, writer)) = self.pipe.get() {
            let mut writer: &PipeWriter = writer;
            // A byte in the pipe wakes everyone for good. Few threads come here, each once or twice: it never is full.
            let _ = writer.write(&[0]);
        }
    }
}
