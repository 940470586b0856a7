//! The checkpoint's file, beside the output.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Write};
use std::path::PathBuf;

use rustix::fs::{AtFlags, Mode, OFlags, linkat, openat, renameat, unlinkat};
use rustix::io::Errno;

use super::checkpoint::{Checkpoint, Garbled};
use super::publish::{make_named, sync_folder};
use super::target::Place;
use super::{Fault, hidden};

/// `NAME.checkpoint`.
#[derive(Debug)]
pub(crate) struct Store {
    place: Place,
}

/// Why the first checkpoint could not be written.
#[derive(Debug)]
pub(crate) enum StoreError {
    /// Another run was faster.
    Busy,
    Fault(Fault),
}

/// A longer file is none of ours.
const LONGEST: u64 = 1 << 30;

impl Store {
    /// Of the output that goes to this place.
    pub fn beside(output: &Place) -> Result<Store, Fault> {
        let name: OsString = [&output.name, OsStr::new(".checkpoint")]
            .into_iter()
            .collect();
        let place = output.sibling(name)?;
        hidden::remove_stale(&place);
        hidden::remove_stale(output);
        Ok(Store { place })
    }

    pub fn path(&self) -> PathBuf {
        self.place.folder.join(&self.place.name)
    }

    /// What an earlier run left, if there is something.
    pub fn load(&self) -> Result<Option<Result<Checkpoint, Garbled>>, Fault> {
        let Some(file) = self.open()? else {
            return Ok(None);
        };
        let mut bytes = Vec::new();
        file.take(LONGEST)
            .read_to_end(&mut bytes)
            .map_err(|error| Fault::new("read", error))?;
        Ok(Some(Checkpoint::decode(&bytes)))
    }

    /// Writes the first checkpoint of a run: there must be none.
    pub fn begin(&self, checkpoint: &[u8]) -> Result<(), StoreError> {
        self.put(checkpoint, |dir, name, goal| {
            match linkat(dir, name, dir, goal, AtFlags::empty()) {
                // A file system without links; that two runs begin in the same instant is left to the lock.
                Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => {
                    return renameat(dir, name, dir, goal);
                }
                linked => linked?,
            }
            unlinkat(dir, name, AtFlags::empty())
        })
        .map_err(|fault| match fault.source.raw_os_error() {
            Some(code) if code == Errno::EXIST.raw_os_error() => StoreError::Busy,
            _ => StoreError::Fault(fault),
        })
    }

    /// Puts a checkpoint in the place of the last one, in one step. It outlives a power cut when this is done.
    pub fn save(&self, checkpoint: &[u8]) -> Result<(), Fault> {
        self.put(checkpoint, |dir, name, goal| renameat(dir, name, dir, goal))
    }

    fn put(
        &self,
        checkpoint: &[u8],
        name_it: impl FnOnce(&rustix::fd::OwnedFd, &OsStr, &OsStr) -> Result<(), Errno>,
    ) -> Result<(), Fault> {
        let place = &self.place;
        let in_folder = |error| Fault::in_folder(&place.folder, "write in this folder", error);
        let (mut file, name) = make_named(place).map_err(in_folder)?;
        let cannot = |error: std::io::Error| Fault::new("write", error);
        let written = file
            .write_all(checkpoint)
            .and_then(|()| file.sync_all())
            .map_err(cannot)
            .and_then(|()| {
                name_it(&place.dir, &name, &place.name).map_err(|error| cannot(error.into()))
            });
        if written.is_err() {
            // What is left of a first one's hidden name is removed by the next run.
            let _ = unlinkat(&place.dir, &name, AtFlags::empty());
        }
        written?;
        self.sync_folder(&file)
    }

    /// The run is over: nothing is to go on from any more, nor after a power cut.
    pub fn remove(&self) -> Result<(), Fault> {
        let Some(file) = self.open()? else {
            return Ok(());
        };
        match unlinkat(&self.place.dir, &self.place.name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => self.sync_folder(&file),
            Err(error) => Err(Fault::new("remove", error)),
        }
    }

    fn open(&self) -> Result<Option<File>, Fault> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
        match openat(&self.place.dir, &self.place.name, flags, Mode::empty()) {
            Ok(file) => Ok(Some(file.into())),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(Fault::new("read", error)),
        }
    }

    fn sync_folder(&self, file: &File) -> Result<(), Fault> {
        let folder = &self.place.folder;
        sync_folder(&self.place, file)
            .map_err(|error| Fault::in_folder(folder, "sync this folder", error))
    }
}
