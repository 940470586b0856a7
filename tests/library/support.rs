//! What the tests share: random cases from a printed seed, a watchdog, a quiet panic hook, a reader of short reads.

use std::cell::Cell;
use std::hash::{BuildHasher, RandomState};
use std::io::{self, Read, Write};
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::time::Duration;

use proptest::strategy::Strategy;
use proptest::test_runner::{Config, RngSeed, TestRunner};

/// `INORDER_CASES`, if it is set.
pub fn cases() -> Option<u32> {
    let asked = std::env::var("INORDER_CASES").ok()?;
    Some(asked.parse().expect("INORDER_CASES is a number"))
}

/// A random number, for a seed.
pub fn random() -> u64 {
    RandomState::new().hash_one(0)
}

/// Calls `test` with that many random cases (`INORDER_CASES` overrides it), each under a watchdog.
pub fn check<S: Strategy>(count: u32, strategy: &S, test: impl Fn(S::Value)) {
    quiet_panics();
    let seed = std::env::var("INORDER_SEED").map_or_else(
        |_| random(),
        |seed| seed.parse().expect("INORDER_SEED is a number"),
    );
    println!("INORDER_SEED={seed}");
    let mut runner = TestRunner::new(Config {
        cases: cases().unwrap_or(count),
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        max_shrink_iters: 2000,
        ..Config::default()
    });
    let watchdog = Watchdog::new();
    SHRINKING.set(true);
    let result = runner.run(strategy, |case| {
        watchdog.feed();
        test(case);
        Ok(())
    });
    SHRINKING.set(false);
    result.unwrap_or_else(|error| panic!("INORDER_SEED={seed}: {error}"));
}

/// Ends the process when a test hangs: half a minute after it was made or last fed.
pub struct Watchdog(Sender<()>);

impl Watchdog {
    pub fn new() -> Watchdog {
        let (feed, fed) = channel();
        let test = std::thread::current().name().unwrap_or("?").to_owned();
        std::thread::spawn(move || {
            loop {
                match fed.recv_timeout(Duration::from_secs(30)) {
                    Ok(()) => {}
                    Err(RecvTimeoutError::Disconnected) => return,
                    Err(RecvTimeoutError::Timeout) => {
                        // Not by a macro, whose output the test harness would keep.
                        let _ = writeln!(io::stderr(), "{test} hangs");
                        std::process::abort();
                    }
                }
            }
        });
        Watchdog(feed)
    }

    pub fn feed(&self) {
        self.0.send(()).expect("the watchdog is awake");
    }
}

/// What planned panics say first: these are not printed.
pub const PLANNED: &str = "planned";

thread_local! {
    /// Panics on this thread are told once, by [`check`], with the smallest case.
    static SHRINKING: Cell<bool> = const { Cell::new(false) };
}

/// Keeps planned panics, and those whose payload is no text, out of the test's output.
pub fn quiet_panics() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let usual = std::panic::take_hook();
        std::panic::set_hook(Box::new(move |info| {
            let payload = info.payload();
            let text = payload.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| payload.downcast_ref::<&str>().copied());
            let told = text.is_some_and(|text| !text.starts_with(PLANNED));
            if told && !SHRINKING.get() {
                usual(info);
            }
        }));
    });
}

/// A run begins as a plain loop, for a millisecond: the first caller waits so long, so that the rest of
/// the run is parallel.
#[derive(Default)]
pub struct WarmUp(AtomicBool);

impl WarmUp {
    pub fn once(&self) {
        if !self.0.swap(true, Ordering::Relaxed) {
            std::thread::sleep(Duration::from_micros(1100));
        }
    }
}

/// A reader that brings so many bytes at a time, in turn, and is interrupted now and then.
pub struct ShortReads<'b> {
    pub bytes: &'b [u8],
    pub lengths: Vec<usize>,
    pub reads: usize,
}

impl Read for ShortReads<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.reads += 1;
        if self.reads.is_multiple_of(5) {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let most = self.lengths[self.reads % self.lengths.len()].max(1);
        let most = most.min(into.len());
        self.bytes.read(&mut into[..most])
    }
}
