//! Makes checkpoints durable on a thread of its own, while the writer goes on.

use std::fs::File;
use std::sync::Arc;
use std::sync::mpsc::{Sender, channel};
use std::thread::JoinHandle;

use super::Fault;
use super::store::Store;
use crate::sync::{Mutex, lock};

/// See the [module](self).
pub(crate) struct Keeper {
    jobs: Option<Sender<Vec<u8>>>,
    thread: Option<JoinHandle<Store>>,
    state: Arc<Mutex<State>>,
}

#[derive(Default)]
struct State {
    at_work: bool,
    fault: Option<Fault>,
}

impl Keeper {
    /// `files`: what must be synced before a checkpoint that speaks of it is written.
    pub fn start(store: Store, files: Vec<File>) -> std::io::Result<Keeper> {
        let (jobs, checkpoints) = channel::<Vec<u8>>();
        let state = Arc::new(Mutex::new(State::default()));
        let shared = Arc::clone(&state);
        let thread = std::thread::Builder::new()
            .name("inorder-keeper".to_owned())
            .spawn(move || {
                for checkpoint in checkpoints {
                    let kept = sync(&files).and_then(|()| store.save(&checkpoint));
                    let mut state = lock(&shared);
                    state.at_work = false;
                    if let Err(fault) = kept {
                        // A sync that failed is not tried again.
                        state.fault = Some(fault);
                        break;
                    }
                }
                store
            })?;
        Ok(Keeper {
            jobs: Some(jobs),
            thread: Some(thread),
            state,
        })
    }

    /// Whether the last checkpoint is saved. An error ends the run.
    pub fn is_idle(&self) -> Result<bool, Fault> {
        let mut state = lock(&self.state);
        match state.fault.take() {
            Some(fault) => Err(fault),
            None => Ok(!state.at_work),
        }
    }

    /// Begins to save a checkpoint.
    pub fn save(&self, checkpoint: Vec<u8>) {
        lock(&self.state).at_work = true;
        if let Some(jobs) = &self.jobs {
            // It fails only if the thread has ended with an error, which is told by then.
            let _ = jobs.send(checkpoint);
        }
    }

    /// Waits until all is saved, and gives the file back.
    pub fn finish(mut self) -> Result<Store, Fault> {
        let store = self.join();
        if let Some(fault) = lock(&self.state).fault.take() {
            return Err(fault);
        }
        store.ok_or_else(|| Fault::new("write", std::io::Error::other("its thread panicked")))
    }

    fn join(&mut self) -> Option<Store> {
        self.jobs = None;
        self.thread.take()?.join().ok()
    }
}

fn sync(files: &[File]) -> Result<(), Fault> {
    for file in files {
        file.sync_data()
            .map_err(|error| Fault::new("sync", error))?;
    }
    Ok(())
}

impl Drop for Keeper {
    fn drop(&mut self) {
        // What went wrong was told, or the run has ended with another error.
        self.join();
    }
}
