//! Signals that ask for something.

use std::sync::Arc;
use std::thread::{self, JoinHandle};

use signal_hook::consts::SIGUSR1;
use signal_hook::iterator::{Handle, Signals};

use super::progress::Board;
use super::voice::Speaker;

/// SIGUSR1 asks how far the run is. Dropped, the signal is ignored.
pub struct Answers {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Answers {
    /// Answers with a line of progress and a line for each worker, from now on. `None`: the system has no room for it.
    pub fn start(board: Arc<Board>, speaker: Speaker) -> Option<Answers> {
        let mut signals = Signals::new([SIGUSR1]).ok()?;
        let handle = signals.handle();
        let answer = move || {
            for _ in signals.forever() {
                for line in board.report() {
                    speaker.line(&line);
                }
            }
        };
        let thread = thread::Builder::new().name("signals".to_owned());
        let thread = thread.spawn(answer).ok()?;
        Some(Answers {
            handle,
            thread: Some(thread),
        })
    }
}

impl Drop for Answers {
    fn drop(&mut self) {
        self.handle.close();
        if let Some(thread) = self.thread.take() {
            // It does nothing that panics.
            let _ = thread.join();
        }
    }
}
