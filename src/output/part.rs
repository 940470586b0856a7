//! A file in the making that a later run can go on with: it grows under a name of its own, `NAME.part`.
//!
//! Whoever writes it holds a lock on it, so that a second run finds that the first still lives.

use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::File;
use std::io::{self, IoSlice, Read, Seek, SeekFrom};
use std::path::PathBuf;
use std::time::Duration;

use rustix::fs::{AtFlags, FileType, OFlags, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::checkpoint::FileState;
use super::publish::{PRIVATE, check_kind, check_target, sync_folder};
use super::target::Place;
use super::write::{never_busy, write_all};
use super::{Fault, hidden, mode};
use crate::checksum::Digest;

/// The file, locked.
#[derive(Debug)]
pub(crate) struct Part {
    place: Place,
    name: OsString,
    file: File,
    length: u64,
    digest: Digest,
    /// Where bytes began that are not summed here: who writes them knows their sum.
    summed_from: Option<u64>,
}

/// Why a run can't go on with what is there, or begin.
#[derive(Debug)]
pub(crate) enum PartError {
    /// Another run holds the lock.
    Busy,
    /// The file is there, but nothing that says what it holds.
    NotOurs,
    /// It has fewer bytes than were written.
    Shorter {
        is: u64,
        was: u64,
    },
    /// It holds other bytes than were written.
    Changed,
    /// It is gone.
    Missing,
    /// The run was stopped before it was read to its end.
    Stopped,
    Fault(Fault),
}

impl fmt::Display for PartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            PartError::Busy => f.write_str("another run writes this output"),
            PartError::NotOurs => {
                f.write_str("it is there, but no checkpoint that says what it holds")
            }
            PartError::Shorter { is, was } => {
                write!(f, "it has {is} bytes, but {was} were written")
            }
            PartError::Changed => f.write_str("it does not hold what was written"),
            PartError::Missing => f.write_str("it is gone"),
            PartError::Stopped => f.write_str("stopped"),
            PartError::Fault(fault) => write!(f, "cannot {}", fault.what),
        }
    }
}

impl From<Fault> for PartError {
    fn from(fault: Fault) -> PartError {
        PartError::Fault(fault)
    }
}

/// `NAME.part`.
pub(crate) fn part_name(name: &OsStr) -> OsString {
    [name, OsStr::new(".part")].into_iter().collect()
}

const LOCK_TRIES: u32 = 20;
const LOCK_PAUSE: Duration = Duration::from_millis(5);

const FLAGS: OFlags = OFlags::RDWR
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::CLOEXEC);

impl Part {
    /// Makes the file, which must not be there.
    pub fn create(place: &Place) -> Result<Part, PartError> {
        check_target(place)?;
        let name = part_name(&place.name);
        let file = match openat(
            &place.dir,
            &name,
            FLAGS | OFlags::CREATE | OFlags::EXCL,
            PRIVATE,
        ) {
            Ok(file) => File::from(file),
            // It was not there a moment ago.
            Err(Errno::EXIST) => return Err(PartError::Busy),
            Err(error) => {
                return Err(Fault::in_folder(&place.folder, "write in this folder", error).into());
            }
        };
        let part = Part::locked(place, name, file)?;
        // Else a power cut could leave a checkpoint that speaks of a file that is not there.
        part.sync_folder()?;
        Ok(part)
    }

    /// The file that an earlier run left, if it is there, before it is looked into.
    pub fn find(place: &Place) -> Result<Option<Part>, PartError> {
        let name = part_name(&place.name);
        let Some(file) = open(place, &name)? else {
            return Ok(None);
        };
        Part::locked(place, name, file).map(Some)
    }

    fn locked(place: &Place, name: OsString, file: File) -> Result<Part, PartError> {
        // A run that is refused for another reason has the lock for a moment too.
        let mut patience = LOCK_TRIES;
        while !hidden::lock(&file) {
            patience -= 1;
            if patience == 0 {
                return Err(PartError::Busy);
            }
            std::thread::sleep(LOCK_PAUSE);
        }
        // Until the lock was had, its owner may have given it its final name, or thrown it away.
        if !hidden::is_at(place, &name, &file) {
            return Err(PartError::Busy);
        }
        Ok(Part {
            place: place.sibling(place.name.clone())?,
            name,
            file,
            length: 0,
            digest: Digest::default(),
            summed_from: None,
        })
    }

    /// Goes on behind the bytes that count, which must be what was written. What follows them is cut off. `is_stopped` ends the reading.
    pub fn take_up(
        &mut self,
        state: &FileState,
        is_stopped: &dyn Fn() -> bool,
    ) -> Result<(), PartError> {
        let cannot = |error: io::Error| Fault::new("read back", error);
        let is = self.file.metadata().map_err(cannot)?.len();
        let was = state.length;
        if is < was {
            return Err(PartError::Shorter { is, was });
        }
        let digest = sum(&mut self.file, was, is_stopped)?;
        if digest.sum() != state.crc {
            return Err(PartError::Changed);
        }
        let cut = self.file.set_len(was);
        cut.map_err(|error| Fault::new("cut", error))?;
        (self.digest, self.length) = (digest, was);
        Ok(())
    }

    pub fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        for part in parts.iter() {
            if self.summed_from.is_none() {
                self.digest.update(part);
            }
            self.length += part.len() as u64;
        }
        write_all(&mut &self.file, parts, never_busy)
    }

    /// The sum of what is written until [`end_summed`](Part::end_summed) is known.
    pub fn begin_summed(&mut self) {
        self.summed_from = Some(self.length);
    }

    pub fn end_summed(&mut self, sum: u32) {
        if let Some(from) = self.summed_from.take() {
            self.digest.append(sum, self.length - from);
        }
    }

    /// What is written.
    pub fn state(&self) -> FileState {
        FileState {
            length: self.length,
            crc: self.digest.sum(),
        }
    }

    /// Another descriptor of the file, to sync it by.
    pub fn descriptor(&self) -> io::Result<File> {
        self.file.try_clone()
    }

    pub fn folder(&self) -> &std::path::Path {
        &self.place.folder
    }

    pub fn path(&self) -> PathBuf {
        self.place.folder.join(&self.name)
    }

    /// Gives the file its final mode, and syncs it.
    pub fn settle(&self) -> Result<(), Fault> {
        let old = self.place.stat();
        let old = old.map_err(|error| Fault::new("replace", error))?;
        check_kind(old.as_ref())?;
        mode::settle(&self.file, old.as_ref())
            .map_err(|error| Fault::new("set the mode of", error))?;
        self.file
            .sync_all()
            .map_err(|error| Fault::new("sync", error))
    }

    /// Gives the file, which is synced, its name. The folder is not synced yet.
    pub fn publish(&self) -> Result<(), Fault> {
        let cannot = |error| Fault::new("replace", error);
        let dir = &self.place.dir;
        renameat(dir, &self.name, dir, &self.place.name).map_err(cannot)
    }

    pub fn sync(&self) -> Result<(), Fault> {
        self.file
            .sync_data()
            .map_err(|error| Fault::new("sync", error))
    }

    pub fn sync_folder(&self) -> Result<(), Fault> {
        let folder = &self.place.folder;
        sync_folder(&self.place, &self.file)
            .map_err(|error| Fault::in_folder(folder, "sync this folder", error))
    }

    /// Throws the file away.
    pub fn remove(self) -> Result<(), Fault> {
        unlinkat(&self.place.dir, &self.name, AtFlags::empty())
            .map_err(|error| Fault::new("remove", error))
    }
}

/// Opens what must be a regular file.
fn open(place: &Place, name: &OsStr) -> Result<Option<File>, Fault> {
    let cannot = |error| Fault::new("open", error);
    match openat(&place.dir, name, FLAGS, rustix::fs::Mode::empty()) {
        Ok(file) => {
            let stat = rustix::fs::fstat(&file).map_err(cannot)?;
            if FileType::from_raw_mode(stat.st_mode) != FileType::RegularFile {
                return Err(cannot(Errno::INVAL));
            }
            Ok(Some(file.into()))
        }
        Err(Errno::NOENT) => Ok(None),
        Err(error) => Err(cannot(error)),
    }
}

/// Whether a finished file holds these bytes. `is_stopped` ends the reading.
pub(crate) fn holds(
    place: &Place,
    state: &FileState,
    is_stopped: &dyn Fn() -> bool,
) -> Result<bool, PartError> {
    let flags = OFlags::RDONLY | OFlags::NONBLOCK | OFlags::CLOEXEC;
    let cannot = |error: io::Error| Fault::new("read back", error);
    let file = match openat(&place.dir, &place.name, flags, rustix::fs::Mode::empty()) {
        Ok(file) => file,
        Err(Errno::NOENT) => return Ok(false),
        Err(error) => return Err(cannot(error.into()).into()),
    };
    let mut file = File::from(file);
    if file.metadata().map_err(cannot)?.len() != state.length {
        return Ok(false);
    }
    Ok(sum(&mut file, state.length, is_stopped)?.sum() == state.crc)
}

/// Of the file's first bytes; its position is behind them after that.
fn sum(file: &mut File, length: u64, is_stopped: &dyn Fn() -> bool) -> Result<Digest, PartError> {
    let cannot = |error: io::Error| Fault::new("read back", error);
    file.seek(SeekFrom::Start(0)).map_err(cannot)?;
    let mut digest = Digest::default();
    let mut block = vec![0; 256 << 10];
    let mut left = length;
    while left > 0 {
        if is_stopped() {
            return Err(PartError::Stopped);
        }
        let want = block.len().min(usize::try_from(left).unwrap_or(usize::MAX));
        file.read_exact(&mut block[..want]).map_err(cannot)?;
        digest.update(&block[..want]);
        left -= want as u64;
    }
    Ok(digest)
}
