//! A file that appears under its name only when it is whole.
//!
//! The bytes go to a temporary file in the target's folder: without a name where the file system has such files
//! (then a killed run leaves nothing), else under a hidden one. Publishing gives it its mode and owner, syncs it,
//! gives it the name in one step, and syncs the folder. A sync that failed is not tried again: the system may have
//! dropped the bytes it could not write.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{
    Access, AtFlags, FileType, Mode, OFlags, Stat, accessat, openat, renameat, unlinkat,
};
use rustix::io::Errno;

use super::target::Place;
use super::{Fault, hidden, mode};

/// The file in the making. Dropped before [`finish`](Unpublished::finish) it leaves nothing.
#[derive(Debug)]
pub(crate) struct Unpublished {
    place: Place,
    file: File,
    /// The hidden name that the file has now.
    hidden: Option<OsString>,
}

impl Unpublished {
    /// Checks that the target may be made or replaced, removes what killed runs left, and makes the temporary file.
    /// `unnamed`: without a name if the file system can.
    pub(crate) fn create(place: Place, unnamed: bool) -> Result<Unpublished, Fault> {
        check_target(&place)?;
        hidden::remove_stale(&place);
        let in_folder = |error| Fault::in_folder(&place.folder, "write in this folder", error);
        if unnamed && let Some(file) = make_unnamed(&place).map_err(in_folder)? {
            return Ok(Unpublished {
                place,
                file,
                hidden: None,
            });
        }
        let (file, name) = make_named(&place).map_err(in_folder)?;
        Ok(Unpublished {
            place,
            file,
            hidden: Some(name),
        })
    }

    pub(crate) fn file(&self) -> &File {
        &self.file
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.place.folder
    }

    pub(crate) fn temporary(&self) -> Option<PathBuf> {
        self.hidden
            .as_ref()
            .map(|name| self.place.folder.join(name))
    }

    /// Publishes the file.
    pub(crate) fn finish(mut self) -> Result<(), Fault> {
        let old = self
            .place
            .stat()
            .map_err(|error| Fault::new("replace", error))?;
        check_kind(old.as_ref())?;
        mode::settle(&self.file, old.as_ref())
            .map_err(|error| Fault::new("set the mode of", error))?;
        self.file
            .sync_all()
            .map_err(|error| Fault::new("sync", error))?;
        self.name(old.is_some())
            .map_err(|error| Fault::new("replace", error))?;
        let folder = &self.place.folder;
        sync_folder(&self.place, &self.file)
            .map_err(|error| Fault::in_folder(folder, "sync this folder", error))
    }

    /// Gives the file its name.
    fn name(&mut self, replace: bool) -> Result<(), Errno> {
        if self.hidden.is_none() {
            if !replace {
                match link(&self.file, &self.place, &self.place.name) {
                    Err(Errno::EXIST) => {}
                    done => return done,
                }
            }
            self.hidden = Some(link_hidden(&self.file, &self.place)?);
        }
        if let Some(name) = &self.hidden {
            renameat(&self.place.dir, name, &self.place.dir, &self.place.name)?;
            self.hidden = None;
        }
        Ok(())
    }
}

impl Drop for Unpublished {
    fn drop(&mut self) {
        if let Some(name) = &self.hidden
            && hidden::is_at(&self.place, name, &self.file)
        {
            let _ = unlinkat(&self.place.dir, name, AtFlags::empty());
        }
    }
}

/// Finds what would keep a new file from taking this place when all the work is done.
pub(super) fn check_target(place: &Place) -> Result<(), Fault> {
    let old = place.stat().map_err(|error| Fault::new("open", error))?;
    if old.is_some() {
        accessat(&place.dir, &place.name, Access::WRITE_OK, AtFlags::EACCESS)
            .map_err(|error| Fault::new("replace", error))?;
    }
    check_rename(place, old.as_ref())
}

/// Whether what is there now may be replaced.
pub(super) fn check_kind(old: Option<&Stat>) -> Result<(), Fault> {
    match old {
        Some(old) if FileType::from_raw_mode(old.st_mode) != FileType::RegularFile => {
            let error = std::io::Error::other("it is no regular file any more");
            Err(Fault::new("replace", error))
        }
        _ => Ok(()),
    }
}

/// Finds what would make the rename fail when all the work is done.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn check_rename(place: &Place, old: Option<&Stat>) -> Result<(), Fault> {
    use rustix::fs::{StatxAttributes, StatxFlags, statx};

    let Some(old) = old else { return Ok(()) };
    let attributes = |name: &OsStr| {
        let seen = statx(
            &place.dir,
            name,
            AtFlags::SYMLINK_NOFOLLOW,
            StatxFlags::empty(),
        );
        seen.map_or(StatxAttributes::empty(), |seen| {
            seen.stx_attributes & seen.stx_attributes_mask
        })
    };
    let (file, folder) = (attributes(&place.name), attributes(OsStr::new(".")));
    if file.contains(StatxAttributes::MOUNT_ROOT) {
        return Err(Fault::new(
            "replace",
            std::io::Error::other("it is a mount point"),
        ));
    }
    if file.intersects(StatxAttributes::APPEND | StatxAttributes::IMMUTABLE) {
        return Err(Fault::new("replace", Errno::PERM));
    }
    if folder.contains(StatxAttributes::APPEND) {
        return Err(Fault::in_folder(
            &place.folder,
            "replace a file in this folder",
            Errno::PERM,
        ));
    }
    check_sticky(place, old)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn check_rename(place: &Place, old: Option<&Stat>) -> Result<(), Fault> {
    old.map_or(Ok(()), |old| check_sticky(place, old))
}

/// In a folder like /tmp only the owner of the file, of the folder, or root may replace a file.
fn check_sticky(place: &Place, old: &Stat) -> Result<(), Fault> {
    let Ok(folder) = rustix::fs::fstat(&place.dir) else {
        return Ok(());
    };
    let us = rustix::process::geteuid();
    let owners = [old.st_uid, folder.st_uid, 0];
    if Mode::from_raw_mode(folder.st_mode).contains(Mode::SVTX) && !owners.contains(&us.as_raw()) {
        return Err(Fault::new(
            "replace",
            std::io::Error::other("it is another user's, in a sticky folder"),
        ));
    }
    Ok(())
}

/// A file without a name. `None`: not on this file system, or it could not be named later.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn make_unnamed(place: &Place) -> Result<Option<File>, Errno> {
    let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::CLOEXEC;
    let file = match openat(&place.dir, ".", flags, PRIVATE) {
        Ok(file) => File::from(file),
        Err(Errno::OPNOTSUPP | Errno::ISDIR | Errno::NOENT | Errno::INVAL | Errno::NOSYS) => {
            return Ok(None);
        }
        Err(error) => return Err(error),
    };
    let (here, there) = (
        rustix::fs::fstat(&file)?,
        rustix::fs::stat(proc_name(&file)),
    );
    let nameable =
        there.is_ok_and(|there| (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino));
    Ok((nameable && hidden::lock(&file)).then_some(file))
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn make_unnamed(_: &Place) -> Result<Option<File>, Errno> {
    Ok(None)
}

/// A file under a hidden name that is ours.
pub(super) fn make_named(place: &Place) -> Result<(File, OsString), Errno> {
    let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
    for name in hidden::names(place) {
        match openat(&place.dir, &name, flags, PRIVATE) {
            // Between these two lines another run may take it for stale and remove it.
            Ok(file) if hidden::lock(&file) && hidden::is_at(place, &name, &file) => {
                return Ok((file.into(), name));
            }
            Ok(_) | Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

/// Gives a file without a name a hidden one.
fn link_hidden(file: &File, place: &Place) -> Result<OsString, Errno> {
    for name in hidden::names(place) {
        match link(file, place, &name) {
            Ok(()) => return Ok(name),
            Err(Errno::EXIST) => {}
            Err(error) => return Err(error),
        }
    }
    Err(Errno::EXIST)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn link(file: &File, place: &Place, name: &OsStr) -> Result<(), Errno> {
    rustix::fs::linkat(
        rustix::fs::CWD,
        proc_name(file),
        &place.dir,
        name,
        AtFlags::SYMLINK_FOLLOW,
    )
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn link(_: &File, _: &Place, _: &OsStr) -> Result<(), Errno> {
    Err(Errno::NOTSUP)
}

#[cfg(any(target_os = "linux", target_os = "android"))]
fn proc_name(file: &File) -> String {
    use std::os::fd::AsRawFd;
    format!("/proc/self/fd/{}", file.as_raw_fd())
}

/// Makes the new name outlive a power cut.
pub(super) fn sync_folder(place: &Place, file: &File) -> std::io::Result<()> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    match openat(&place.dir, ".", flags, Mode::empty()) {
        Ok(dir) => sync_open_folder(dir),
        Err(Errno::ACCESS) => sync_unlistable_folder(file),
        Err(error) => Err(error.into()),
    }
}

fn sync_open_folder(dir: OwnedFd) -> std::io::Result<()> {
    match rustix::fs::fsync(&dir) {
        // Some file systems do not sync folders; their names are as safe as they make them.
        Err(Errno::INVAL | Errno::NOTSUP | Errno::NOSYS) => Ok(()),
        done => Ok(done?),
    }
}

/// A folder that may be written but not listed cannot be opened: the whole file system is synced.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn sync_unlistable_folder(file: &File) -> std::io::Result<()> {
    Ok(rustix::fs::syncfs(file)?)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn sync_unlistable_folder(file: &File) -> std::io::Result<()> {
    file.sync_all()
}

/// Readable and writable by the owner alone, until the file is published.
pub(super) const PRIVATE: Mode = Mode::RUSR.union(Mode::WUSR);
