//! Notices that nobody reads the output any more, while the writer has nothing to write.

use std::sync::Arc;
use std::thread::JoinHandle;

use crate::control::Control;

/// Stops the run when its output is closed, until it is dropped. A write would notice too, but a chunk may be long at work.
pub(super) struct CloseWatch {
    control: Arc<Control>,
    thread: Option<JoinHandle<()>>,
}

impl CloseWatch {
    /// Without a thread to be had, only writes notice.
    pub fn start(control: &Arc<Control>) -> CloseWatch {
        let thread = control.waker.watches_output().then(|| {
            let control = Arc::clone(control);
            let thread = std::thread::Builder::new().name("inorder-closed".to_owned());
            thread.spawn(move || {
                if let Ok(true) = control.waker.wait_for_close() {
                    control.output_closed();
                }
            })
        });
        CloseWatch {
            control: Arc::clone(control),
            thread: thread.and_then(Result::ok),
        }
    }
}

impl Drop for CloseWatch {
    fn drop(&mut self) {
        if let Some(thread) = self.thread.take() {
            self.control.waker.wake();
            // It does not panic, and has no result.
            let _ = thread.join();
        }
    }
}
