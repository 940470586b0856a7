//! Everything that is said on standard error, by one thread of its own.
//!
//! A standard error that is blocked, closed or full must neither stop nor fail the run. So nobody else writes there, and
//! nobody waits for that thread longer than a moment: if it is stuck in a write it is left behind.

use std::io::{self, Write};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

use super::escape;
use super::progress::Ticker;

/// How long what has been said may take to reach standard error at the end.
const PATIENCE: Duration = Duration::from_secs(1);

/// The program's voice.
#[derive(Debug)]
pub struct Voice {
    speaker: Speaker,
    stuck: bool,
}

/// A sender of lines that can be handed around.
#[derive(Debug, Clone)]
pub struct Speaker {
    sender: Sender<Say>,
    /// Bytes of others that are not yet written. Only commands say anything.
    #[cfg_attr(not(unix), allow(dead_code))]
    waiting: Arc<AtomicUsize>,
}

/// So many bytes of others may wait to be written; then no more should be taken from them.
#[cfg(unix)]
const MOST_WAITING: usize = 1 << 20;

enum Say {
    Line(String),
    /// What others have said, as it stands.
    #[cfg_attr(not(unix), allow(dead_code))]
    Others(Vec<u8>),
    Show(Box<Ticker>),
    Hide(Sender<()>),
}

impl Voice {
    /// Starts the thread.
    pub fn new() -> Voice {
        Voice::on(Box::new(io::stderr()))
    }

    fn on(stderr: Box<dyn Write + Send>) -> Voice {
        let (sender, receiver) = mpsc::channel();
        let waiting = Arc::new(AtomicUsize::new(0));
        let speaker = Speaker {
            sender,
            waiting: Arc::clone(&waiting),
        };
        // Without a thread the lines are said by the caller.
        let _ = thread::Builder::new()
            .name("stderr".to_string())
            .spawn(move || speak(&receiver, &waiting, stderr));
        Voice {
            speaker,
            stuck: false,
        }
    }

    /// One line, after the program's name.
    pub fn line(&self, text: &str) {
        self.speaker.line(text);
    }

    pub fn speaker(&self) -> Speaker {
        self.speaker.clone()
    }

    /// Shows a run's progress from now on.
    pub fn show(&self, ticker: Ticker) {
        let _ = self.speaker.sender.send(Say::Show(Box::new(ticker)));
    }

    /// Ends the display of progress and waits until all that was said is written, but not for long.
    pub fn settle(&mut self) {
        let written = self.speaker.hide();
        if !self.stuck {
            self.stuck = written.recv_timeout(PATIENCE) == Err(RecvTimeoutError::Timeout);
        }
    }
}

impl Speaker {
    /// Ends the display of progress. Something comes, or all senders are gone, when all that was said is written.
    fn hide(&self) -> Receiver<()> {
        let (done, written) = mpsc::channel();
        let _ = self.sender.send(Say::Hide(done));
        written
    }

    /// As [`Voice::settle`].
    #[cfg(unix)]
    pub fn settle(&self) {
        let _ = self.hide().recv_timeout(PATIENCE);
    }

    /// A line that is no word of the program's.
    pub fn quote(&self, text: &str) {
        self.say(format!("{}\n", escape::line(text)));
    }

    /// One line, after the program's name.
    pub fn line(&self, text: &str) {
        self.say(format!("inorder: {}\n", escape::line(text)));
    }

    fn say(&self, line: String) {
        if let Err(mpsc::SendError(Say::Line(line))) = self.sender.send(Say::Line(line)) {
            let _ = io::stderr().write_all(line.as_bytes());
        }
    }

    /// Whole lines that others have said, as they stand.
    #[cfg(unix)]
    pub fn others(&self, lines: Vec<u8>) {
        self.waiting.fetch_add(lines.len(), Ordering::Relaxed);
        if let Err(mpsc::SendError(Say::Others(lines))) = self.sender.send(Say::Others(lines)) {
            self.waiting.fetch_sub(lines.len(), Ordering::Relaxed);
            let _ = io::stderr().write_all(&lines);
        }
    }

    /// Whether so much waits to be written that others should be left to wait.
    #[cfg(unix)]
    pub fn is_behind(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > MOST_WAITING
    }
}

impl std::fmt::Debug for Say {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Say")
    }
}

/// The thread: says what it is told, and looks at the run's figures in between.
fn speak(receiver: &Receiver<Say>, waiting: &AtomicUsize, mut stderr: Box<dyn Write + Send>) {
    let mut ticker: Option<Box<Ticker>> = None;
    loop {
        let told = match &ticker {
            Some(ticker) => receiver.recv_timeout(ticker.pause()),
            None => receiver.recv().map_err(|_| RecvTimeoutError::Disconnected),
        };
        match told {
            Ok(Say::Line(line)) => match &ticker {
                Some(ticker) => ticker.aside(|| write(&mut *stderr, line.as_bytes())),
                None => write(&mut *stderr, line.as_bytes()),
            },
            Ok(Say::Others(lines)) => {
                match &ticker {
                    Some(ticker) => ticker.aside(|| write(&mut *stderr, &lines)),
                    None => write(&mut *stderr, &lines),
                }
                waiting.fetch_sub(lines.len(), Ordering::Relaxed);
            }
            Ok(Say::Show(new)) => ticker = Some(new),
            Ok(Say::Hide(done)) => {
                if let Some(ticker) = ticker.take() {
                    ticker.end();
                }
                let _ = done.send(());
            }
            Err(RecvTimeoutError::Timeout) => {
                if let Some(ticker) = &mut ticker
                    && let Some(line) = ticker.tick()
                {
                    ticker.aside(|| write(&mut *stderr, format!("inorder: {line}\n").as_bytes()));
                }
            }
            Err(RecvTimeoutError::Disconnected) => return,
        }
    }
}

/// In one call, so that lines of several programs on one terminal stay whole. Nothing can be done about an error.
fn write(stderr: &mut dyn Write, lines: &[u8]) {
    let _ = stderr.write_all(lines);
    let _ = stderr.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;
    use std::time::Instant;

    #[derive(Clone, Default)]
    struct Page(Arc<Mutex<Vec<u8>>>);

    impl Write for Page {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(bytes);
            Ok(bytes.len())
        }
        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn lines_are_written_in_order_and_escaped() {
        let page = Page::default();
        let mut voice = Voice::on(Box::new(page.clone()));
        voice.line("one");
        voice.speaker().line("two\nlines");
        voice.settle();
        assert_eq!(
            *page.0.lock().unwrap(),
            b"inorder: one\ninorder: two\\nlines\n"
        );
    }

    #[test]
    fn a_blocked_standard_error_is_left_behind() {
        struct Blocked;
        impl Write for Blocked {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                loop {
                    thread::park();
                }
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut voice = Voice::on(Box::new(Blocked));
        let start = Instant::now();
        for _ in 0..1000 {
            voice.line("never read");
        }
        voice.settle();
        voice.line("never read");
        voice.settle();
        assert!(start.elapsed() < 2 * PATIENCE, "{:?}", start.elapsed());
    }

    #[test]
    fn a_failing_standard_error_is_no_failure() {
        struct Full;
        impl Write for Full {
            fn write(&mut self, _: &[u8]) -> io::Result<usize> {
                Err(io::ErrorKind::StorageFull.into())
            }
            fn flush(&mut self) -> io::Result<()> {
                Ok(())
            }
        }
        let mut voice = Voice::on(Box::new(Full));
        voice.line("lost");
        voice.settle();
        assert!(!voice.stuck);
    }
}
