//! Standard input and output as the program found them, and its own text on the latter.

use std::io::{self, Write};
use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::bail;

use super::status::StdoutError;

static INPUT_CLOSED: AtomicBool = AtomicBool::new(false);
static OUTPUT_CLOSED: AtomicBool = AtomicBool::new(false);

/// Looks before `main`: the runtime opens /dev/null in the place of closed standard streams, and then an input
/// would seem empty and an output would be lost without a word.
#[cfg(unix)]
#[ctor::ctor(unsafe)]
fn look_at_descriptors() {
    use rustix::io::{Errno, fcntl_getfd};
    let closed = |fd| fcntl_getfd(fd) == Err(Errno::BADF);
    INPUT_CLOSED.store(closed(rustix::stdio::stdin()), Ordering::Relaxed);
    OUTPUT_CLOSED.store(closed(rustix::stdio::stdout()), Ordering::Relaxed);
}

/// An error if standard input was closed when the program began.
pub fn need_input() -> anyhow::Result<()> {
    if INPUT_CLOSED.load(Ordering::Relaxed) {
        bail!("standard input is closed");
    }
    Ok(())
}

/// An error if standard output was closed when the program began.
pub fn need_output() -> anyhow::Result<()> {
    if OUTPUT_CLOSED.load(Ordering::Relaxed) {
        bail!("standard output is closed");
    }
    Ok(())
}

/// Writes the program's own text to standard output, to the last byte.
pub fn print(text: &[u8]) -> anyhow::Result<()> {
    need_output()?;
    let mut stdout = io::stdout().lock();
    stdout
        .write_all(text)
        .and_then(|()| stdout.flush())
        .map_err(|error| StdoutError(error).into())
}
