//! Signals that ask for something: how far the run is, or that it end.

use std::process;
use std::sync::Arc;
use std::sync::atomic::{AtomicI32, Ordering};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use inorder::{StopHandle, kill_guarded_groups};
use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM, SIGUSR1, SIGXFSZ};
use signal_hook::iterator::{Handle, Signals};
use signal_hook::low_level::{emulate_default_handler, signal_name};

use super::progress::Board;
use super::voice::Speaker;

/// The signal that ended the run.
static ENDED_BY: AtomicI32 = AtomicI32::new(0);

/// Answers signals while it lives; SIGUSR1 is ignored after that.
pub struct Answers {
    handle: Handle,
    thread: Option<JoinHandle<()>>,
}

impl Answers {
    /// From now on SIGUSR1 is answered with a line of progress and a line for each worker, and a first INT, TERM or HUP ends the run: with
    /// a `grace` what is in flight may take so long to finish. The next of them ends the program at once. `None`: the system has no room
    /// for it. A file that grows beyond what a process may write is the error of that write.
    pub fn start(
        board: Arc<Board>,
        speaker: Speaker,
        stop: StopHandle,
        grace: Duration,
    ) -> Option<Answers> {
        let mut signals = Signals::new([SIGUSR1]).ok()?;
        let handle = signals.handle();
        // One that is ignored from outside, as by nohup, stays so.
        for signal in [SIGINT, SIGTERM, SIGHUP, SIGXFSZ] {
            if !is_ignored(signal) {
                signals.add_signal(signal).ok()?;
            }
        }
        let answer = move || {
            for signal in signals.forever() {
                match signal {
                    SIGUSR1 => {
                        for line in board.report() {
                            speaker.line(&line);
                        }
                    }
                    // The write that was too much has failed, and that is told.
                    SIGXFSZ => {}
                    signal => end(signal, &stop, grace, &speaker),
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

/// Once it is told to, a run may take so long to end by itself. It does when the records at hand are done, and some never are; what was not
/// published by then is as safe as if the program were killed.
const PATIENCE: Duration = Duration::from_secs(1);

fn end(signal: i32, stop: &StopHandle, grace: Duration, speaker: &Speaker) {
    if ENDED_BY.swap(signal, Ordering::SeqCst) != 0 {
        die(signal);
    }
    if grace.is_zero() {
        stop.abort();
    } else {
        stop.drain();
    }
    let (stop, speaker) = (stop.clone(), speaker.clone());
    let patience = thread::Builder::new().name("grace".to_owned());
    let waits = patience.spawn(move || {
        if !grace.is_zero() {
            thread::sleep(grace);
            stop.abort();
        }
        thread::sleep(PATIENCE);
        speaker.line(&format!(
            "interrupted by {}; the work at hand had not ended",
            signal_name(signal).unwrap_or("a signal")
        ));
        speaker.settle();
        die(signal);
    });
    if let Err(error) = waits {
        // Without a thread that waits there is no time to give.
        drop(error);
        die(signal);
    }
}

/// The name of the signal that ended the run, if one did.
pub fn ended_by() -> Option<&'static str> {
    match ENDED_BY.load(Ordering::SeqCst) {
        0 => None,
        signal => Some(signal_name(signal).unwrap_or("a signal")),
    }
}

/// The status that a shell gives a program that such a signal has ended.
pub fn status() -> Option<u8> {
    match ENDED_BY.load(Ordering::SeqCst) {
        0 => None,
        signal => u8::try_from(128 + signal).ok(),
    }
}

/// Dies of the signal that ended the run, if one did, so that who waits for this program knows: a shell's loop ends too.
pub fn die_of_it() {
    match ENDED_BY.load(Ordering::SeqCst) {
        0 => {}
        signal => die(signal),
    }
}

fn die(signal: i32) -> ! {
    // They are in groups of their own, which no signal from a terminal reaches.
    kill_guarded_groups();
    // No signal ends the first process of a namespace by default.
    if process::id() != 1 {
        let _ = emulate_default_handler(signal);
    }
    process::exit(128 + signal);
}

/// Whether the signal was ignored when the program began.
fn is_ignored(signal: i32) -> bool {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| mask >> (signal - 1) & 1 == 1)
}
