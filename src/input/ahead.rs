//! Compressed files whose turn has not come, unpacked on threads of their own: one decoder is slower than the framing.

use std::path::Path;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, TryRecvError, sync_channel};
use std::thread::JoinHandle;
use std::time::Duration;

use super::InputError;
use super::decode::{Compression, Unpacked};
use super::source::{Opened, Origin};
use super::tap::{Feed, Got, Raw, Tap};
use super::waker::Waker;
use super::watch::Watch;

/// Bytes unpacked at a time.
const BLOCK: usize = 256 << 10;

/// Blocks that are neither waiting nor free: one is being filled, one is taken.
const AT_HAND: usize = 2;

/// A file that is being unpacked.
pub(crate) struct Ahead {
    name: Arc<Path>,
    watch: Watch,
    unpacked: Blocks,
}

impl Ahead {
    /// Starts to unpack a compressed regular file, up to `room` bytes ahead. `None`: it is none, or can't be opened, which will show
    /// when its turn comes.
    pub fn start(path: &Path, memory: usize, room: usize, waker: &Waker) -> Option<Ahead> {
        let origin = Origin::Path(path.to_path_buf());
        if !origin.is_compressed() {
            return None;
        }
        let name = origin.name();
        let Ok(Opened::Regular(regular)) = origin.open() else {
            return None;
        };
        let mut watch = Watch::new(regular.clone()).ok()?;
        let compression = Compression::of_start(watch.first())?;
        let raw = Raw::new(Feed::Regular(regular), 0, waker.clone()).noting(Some(watch.decoded()));
        let tap = Unpacked::new(raw, &name, memory);
        let (sender, receiver) = sync_channel((room / BLOCK).saturating_sub(AT_HAND).max(1));
        let thread = std::thread::Builder::new().name("inorder-unpack".to_owned());
        let thread = thread.spawn(move || unpack(tap, &sender)).ok()?;
        Some(Ahead {
            name,
            watch,
            unpacked: Blocks {
                compression,
                receiver: Some(receiver),
                thread: Some(thread),
                block: Vec::new(),
                given: 0,
                ended: false,
                waker: waker.clone(),
            },
        })
    }

    pub fn name(&self) -> Arc<Path> {
        Arc::clone(&self.name)
    }

    /// What tells whether it was changed, and its bytes.
    pub(super) fn into_parts(self) -> (Watch, Blocks) {
        (self.watch, self.unpacked)
    }
}

/// Sends what the tap brings, and the error that ends it.
fn unpack(mut tap: Unpacked<'_>, sender: &SyncSender<Result<Vec<u8>, InputError>>) {
    loop {
        let (block, ended) = match next_block(&mut tap) {
            Ok(next) => next,
            Err((block, error)) => {
                // If nobody takes them any more they are of no use.
                let _ = sender
                    .send(Ok(block))
                    .and_then(|()| sender.send(Err(error)));
                return;
            }
        };
        if sender.send(Ok(block)).is_err() || ended {
            return;
        }
    }
}

/// A whole block, or the last one; what came before an error comes with it.
fn next_block(tap: &mut Unpacked<'_>) -> Result<(Vec<u8>, bool), (Vec<u8>, InputError)> {
    let mut block = vec![0; BLOCK];
    let mut filled = 0;
    while filled < BLOCK {
        let got = match tap.read(&mut block[filled..]) {
            Ok(got) => got,
            Err(error) => {
                block.truncate(filled);
                return Err((block, error));
            }
        };
        filled += got.bytes;
        if got.ended {
            block.truncate(filled);
            return Ok((block, true));
        }
    }
    Ok((block, false))
}

/// Unpacked blocks of a file, as they come from its thread.
pub(super) struct Blocks {
    compression: Compression,
    receiver: Option<Receiver<Result<Vec<u8>, InputError>>>,
    thread: Option<JoinHandle<()>>,
    block: Vec<u8>,
    given: usize,
    ended: bool,
    waker: Waker,
}

impl Blocks {
    /// Takes the next block, if there is none at hand. Whether there is one now, or the end.
    fn next(&mut self, wait: bool) -> Result<bool, InputError> {
        while self.given == self.block.len() && !self.ended {
            let Some(receiver) = &self.receiver else {
                break;
            };
            let received = match receiver.try_recv() {
                Err(TryRecvError::Empty) if !wait => return Ok(false),
                Err(TryRecvError::Empty) => match receiver.recv_timeout(PATIENCE) {
                    Err(RecvTimeoutError::Timeout) if self.waker.is_woken() => {
                        return Err(InputError::Stopped);
                    }
                    Err(RecvTimeoutError::Timeout) => continue,
                    received => received.ok(),
                },
                received => received.ok(),
            };
            match received {
                Some(block) => {
                    self.block = block?;
                    self.given = 0;
                }
                None => self.finish()?,
            }
        }
        Ok(true)
    }

    /// All blocks were taken.
    fn finish(&mut self) -> Result<(), InputError> {
        self.ended = true;
        match self.thread.take().map(JoinHandle::join) {
            Some(Err(payload)) => std::panic::resume_unwind(payload),
            _ => Ok(()),
        }
    }
}

/// After so long a wait for a block it is looked whether the run was stopped.
const PATIENCE: Duration = Duration::from_millis(100);

impl Tap for Blocks {
    fn settle(&mut self) -> Result<Option<Compression>, InputError> {
        Ok(Some(self.compression))
    }

    fn wait(&mut self, busy: bool) -> Result<bool, InputError> {
        Ok(!self.next(!busy)?)
    }

    fn read(&mut self, rest: &mut [u8]) -> Result<Got, InputError> {
        if self.waker.is_woken() {
            return Err(InputError::Stopped);
        }
        self.next(true)?;
        let n = rest.len().min(self.block.len() - self.given);
        rest[..n].copy_from_slice(&self.block[self.given..self.given + n]);
        self.given += n;
        Ok(Got {
            bytes: n,
            ended: n == 0 && self.ended,
        })
    }
}

impl Drop for Blocks {
    fn drop(&mut self) {
        // Its next block finds nobody.
        self.receiver = None;
        if let Some(thread) = self.thread.take() {
            // What went wrong in what nobody wants is nobody's business.
            let _ = thread.join();
        }
    }
}
