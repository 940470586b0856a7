//! Ends the process with a message where a mapped file was cut short, instead of by a bare SIGBUS.
//!
//! Only the program installs it. Everything that the handler reads is in fixed tables of atomics, and everything
//! it does is safe in a signal handler: no lock, no allocation.

use std::ffi::{CStr, CString, c_int, c_void};
use std::os::fd::AsRawFd;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::ptr;
use std::sync::atomic::{AtomicBool, AtomicI32, AtomicPtr, AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use crate::input::regular::Regular;

/// Windows that are mapped at the same time. One that finds no place is read instead.
const WINDOWS: usize = 1024;
/// Children that live at the same time.
const GROUPS: usize = 1024;
/// Longest name of a temporary file.
const NAME: usize = 4096;
/// Longest text about what is left: two names.
const TEXT: usize = 4 * NAME;

static WINDOW_TABLE: [Place; WINDOWS] = [const { Place::new() }; WINDOWS];
static GROUP_TABLE: [AtomicI32; GROUPS] = [const { AtomicI32::new(0) }; GROUPS];
/// Empty: no temporary file.
static TEMPORARY: Text<NAME> = Text::new();
/// What is said of the output's files. Empty: nothing is left.
static LEFT: Text<TEXT> = Text::new();
/// What is said where nothing is left.
const NOTHING_LEFT: &[u8] = b"no output file was made or changed\n";
/// What was to be done for SIGBUS before. Set: the guard is installed.
static BEFORE: OnceLock<libc::sigaction> = OnceLock::new();
static DYING: AtomicBool = AtomicBool::new(false);
/// No group that is guarded is to live.
static KILLED: AtomicBool = AtomicBool::new(false);

/// Where a window is mapped. `start` is 0 for a free place and 1 for one that is being filled or emptied.
struct Place {
    start: AtomicUsize,
    end: AtomicUsize,
    notice: AtomicPtr<Notice>,
}

impl Place {
    const fn new() -> Place {
        Place {
            start: AtomicUsize::new(0),
            end: AtomicUsize::new(0),
            notice: AtomicPtr::new(ptr::null_mut()),
        }
    }
}

/// A text with one owner at a time, ended by a zero byte.
struct Text<const N: usize> {
    bytes: [AtomicU8; N],
    taken: AtomicBool,
}

impl<const N: usize> Text<N> {
    const fn new() -> Text<N> {
        Text {
            bytes: [const { AtomicU8::new(0) }; N],
            taken: AtomicBool::new(false),
        }
    }

    /// `false`: it has an owner, or can't hold so much.
    fn set(&self, text: &CStr) -> bool {
        let text = text.to_bytes_with_nul();
        if text.len() > N || self.taken.swap(true, Ordering::SeqCst) {
            return false;
        }
        // The first byte comes last: the handler sees a whole text or none.
        for (to, from) in self.bytes.iter().zip(text).rev() {
            to.store(*from, Ordering::SeqCst);
        }
        true
    }

    fn clear(&self) {
        self.bytes[0].store(0, Ordering::SeqCst);
        self.taken.store(false, Ordering::SeqCst);
    }

    /// How long it is; 0: there is none.
    fn len(&self) -> usize {
        let ends = |byte: &AtomicU8| byte.load(Ordering::SeqCst) == 0;
        self.bytes.iter().position(ends).unwrap_or(0)
    }

    fn as_ptr(&self) -> *const u8 {
        self.bytes.as_ptr().cast()
    }
}

/// What is to be said when a window of a file can't be read.
pub(super) struct Notice {
    regular: Regular,
    shrank: Box<[u8]>,
    unreadable: Box<[u8]>,
}

impl Notice {
    pub fn new(name: &Path, regular: Regular) -> Notice {
        let shown = crate::error::escaped(name);
        let text = |what| {
            format!("inorder: {shown}: {what}; ")
                .into_bytes()
                .into_boxed_slice()
        };
        Notice {
            regular,
            shrank: text("input shrank while it was read"),
            unreadable: text("input could not be read: a page of the mapped file failed"),
        }
    }
}

/// A window's place in the table, free again when dropped.
pub(super) struct Entry {
    place: &'static Place,
    /// The table points to it.
    _notice: Arc<Notice>,
}

impl Drop for Entry {
    fn drop(&mut self) {
        self.place.start.store(0, Ordering::Release);
    }
}

/// The table of windows is full.
pub(super) struct Full;

/// Puts a window in the table, if the guard is installed.
pub(super) fn protect(pages: &[u8], notice: &Arc<Notice>) -> Result<Option<Entry>, Full> {
    if BEFORE.get().is_none() {
        return Ok(None);
    }
    let bytes = pages.as_ptr_range();
    for place in &WINDOW_TABLE {
        let (free, filling) = (0, 1);
        let claim =
            place
                .start
                .compare_exchange(free, filling, Ordering::Acquire, Ordering::Relaxed);
        if claim.is_err() {
            continue;
        }
        place.end.store(bytes.end.addr(), Ordering::Relaxed);
        let notice_ptr = Arc::as_ptr(notice).cast_mut();
        place.notice.store(notice_ptr, Ordering::Relaxed);
        // Some processors report no more of the address than its page.
        let page = bytes.start.addr() & !4095;
        place.start.store(page, Ordering::Release);
        return Ok(Some(Entry {
            place,
            _notice: notice.clone(),
        }));
    }
    Err(Full)
}

/// From now on the process ends with a message and exit status 1 when a mapped input turns out to be cut short,
/// instead of being killed by SIGBUS. For programs that map files they can't vouch for; call it before a pipeline
/// runs.
///
/// The temporary file of the output is removed and the commands that run are killed. A SIGBUS for any other reason
/// kills as it would without this.
pub fn guard_mapped_reads() {
    BEFORE.get_or_init(|| {
        // SAFETY: both structures are plain data for which all zeros is a value, and live across the calls. The
        // handler has the signature that SA_SIGINFO asks for, and can be called before `BEFORE` is set.
        unsafe {
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut action: libc::sigaction = std::mem::zeroed();
            action.sa_sigaction = on_bus_error as *const () as usize;
            action.sa_flags = libc::SA_SIGINFO | libc::SA_ONSTACK;
            libc::sigemptyset(&mut action.sa_mask);
            libc::sigaction(libc::SIGBUS, &action, &mut before);
            before
        }
    });
}

/// Has the handler remove the temporary file of an output, as long as the value lives. One at a time: `None` for a second.
pub(crate) fn guard_temporary(path: &Path) -> Option<GuardedTemporary> {
    let name = CString::new(path.as_os_str().as_bytes()).ok()?;
    // A guard that is made and dropped would clear the first one's.
    TEMPORARY.set(&name).then(|| GuardedTemporary(()))
}

/// See [`guard_temporary`].
pub(crate) struct GuardedTemporary(());

impl Drop for GuardedTemporary {
    fn drop(&mut self) {
        TEMPORARY.clear();
    }
}

/// Has the handler name these files, which it leaves for a later run, as long as the value lives. One at a time: `None` for a second.
pub(crate) fn guard_left(part: &Path, checkpoint: &Path) -> Option<GuardedLeft> {
    let [part, checkpoint] = [part, checkpoint].map(crate::error::escaped);
    let text = format!(
        "{part} and {checkpoint} keep what is done, to be gone on from with the input as it was\n"
    );
    let text = CString::new(text).ok()?;
    LEFT.set(&text).then(|| GuardedLeft(()))
}

/// See [`guard_left`].
pub(crate) struct GuardedLeft(());

impl Drop for GuardedLeft {
    fn drop(&mut self) {
        LEFT.clear();
    }
}

/// Has a process group killed where [`guard_mapped_reads`] must end this process, and by [`kill_guarded_groups`], as long as the value lives. Drop it before the
/// group's leader is waited for: afterwards the number can be someone else's. Of more than 1024 groups the rest is left alone.
pub fn guard_group(id: i32) -> GuardedGroup {
    replace_group(0, id);
    if KILLED.load(Ordering::SeqCst) {
        kill_group(id);
    }
    GuardedGroup(id)
}

/// Kills all groups that are guarded, and those that will be: for a program that is about to die. See [`guard_group`].
pub fn kill_guarded_groups() {
    KILLED.store(true, Ordering::SeqCst);
    kill_groups();
}

/// See [`guard_group`].
#[derive(Debug)]
#[must_use = "the group is guarded only as long as this lives"]
pub struct GuardedGroup(i32);

impl Drop for GuardedGroup {
    fn drop(&mut self) {
        replace_group(self.0, 0);
    }
}

fn replace_group(from: i32, to: i32) {
    for group in &GROUP_TABLE {
        let replaced = group.compare_exchange(from, to, Ordering::SeqCst, Ordering::Relaxed);
        if replaced.is_ok() {
            return;
        }
    }
}

fn kill_groups() {
    for group in &GROUP_TABLE {
        kill_group(group.load(Ordering::SeqCst));
    }
}

fn kill_group(id: i32) {
    if id > 1 {
        // SAFETY: a call without pointers, which may be made in a handler too. The number is a group's as long as its leader was not
        // waited for, and until then the group is guarded.
        unsafe {
            libc::kill(-id, libc::SIGKILL);
        }
    }
}

extern "C" fn on_bus_error(signal: c_int, info: *mut libc::siginfo_t, _context: *mut c_void) {
    // SAFETY: the kernel passes a valid structure to a handler installed with SA_SIGINFO. `si_addr` is read only
    // for a fault, which has a positive code; a signal that was sent has none.
    let fault = unsafe {
        let info = &*info;
        (info.si_code > 0).then(|| info.si_addr() as usize)
    };
    if let Some(address) = fault {
        for place in &WINDOW_TABLE {
            let start = place.start.load(Ordering::Acquire);
            if start > 1 && start <= address && address < place.end.load(Ordering::Relaxed) {
                // SAFETY: the thread that faulted reads from this window, so the window lives, and with it the
                // entry that holds the notice.
                die(unsafe { &*place.notice.load(Ordering::Relaxed) });
            }
        }
    }
    // SAFETY: sigaction and raise may be called in a handler. All zeros is the default action, anything else is
    // what the system filled in. A fault comes again on return and finds the action of before, which is Rust's own
    // for the overflow of a stack. That one would take a sent signal for a fault that comes again, so such a signal
    // gets the default action; it is sent again and arrives on return.
    unsafe {
        let default: libc::sigaction = std::mem::zeroed();
        let before = BEFORE.get().filter(|_| fault.is_some());
        libc::sigaction(signal, before.unwrap_or(&default), ptr::null_mut());
        if fault.is_none() {
            libc::raise(signal);
        }
    }
}

/// Says why, cleans up, exits.
fn die(notice: &Notice) -> ! {
    // SAFETY: all of these may be called in a handler. Another thread that faults meanwhile waits for the exit. The
    // structure for fstat is plain data, the texts are alive, and a `Text` is written whole, with its zero
    // byte, before its first byte, by one owner at a time.
    unsafe {
        while DYING.swap(true, Ordering::SeqCst) {
            libc::pause();
        }
        let mut now: libc::stat = std::mem::zeroed();
        let known = libc::fstat(notice.regular.file.as_raw_fd(), &mut now) == 0;
        // It may have its old length again: whoever truncates a file often fills it at once.
        let start = &notice.regular.start;
        let shorter = (now.st_size as u64) < start.length;
        let changed = shorter || (now.st_mtime, now.st_mtime_nsec) != start.modified;
        let text = if known && !changed {
            &notice.unreadable
        } else {
            &notice.shrank
        };
        libc::write(libc::STDERR_FILENO, text.as_ptr().cast(), text.len());
        let (left, len) = match LEFT.len() {
            0 => (NOTHING_LEFT.as_ptr(), NOTHING_LEFT.len()),
            len => (LEFT.as_ptr(), len),
        };
        libc::write(libc::STDERR_FILENO, left.cast(), len);
        if TEMPORARY.len() > 0 {
            libc::unlink(TEMPORARY.as_ptr().cast());
        }
        kill_groups();
        libc::_exit(1)
    }
}

#[cfg(test)]
mod tests;
