//! What stands at the output's path: a place for a file, or something that is written directly.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, CWD, FileType, Mode, OFlags, Stat, openat, readlinkat, statat};
use rustix::io::Errno;

use super::OutputError;

/// Most symbolic links in a chain, as in the Linux kernel.
const MOST_LINKS: usize = 40;

/// What to do with a path.
pub(crate) enum Target {
    /// A regular file, or none yet: made beside it and renamed over it.
    Replace(Place),
    /// Open, and written as it stands.
    Direct(File),
}

/// A name in a folder that is held open, so that neither a renamed folder nor another working directory
/// leads the rest of the run elsewhere.
#[derive(Debug)]
pub(crate) struct Place {
    pub(crate) dir: OwnedFd,
    /// The folder as a path: for messages, and for spill files.
    pub(crate) folder: PathBuf,
    pub(crate) name: OsString,
}

/// Follows the symbolic links at `path` to the end.
pub(crate) fn find(path: &Path) -> Result<Target, OutputError> {
    let fault = |error: Errno| OutputError::new(path, "open", error);
    let mut place = Place::at(CWD, Path::new(""), path).map_err(|fault| fault.of(path))?;
    for _ in 0..=MOST_LINKS {
        if has_doors(&place) {
            return open_door(&place)
                .map(Target::Direct)
                .map_err(|e| OutputError::new(path, "open", e));
        }
        let Some(stat) = place.stat().map_err(fault)? else {
            return Ok(Target::Replace(place));
        };
        match FileType::from_raw_mode(stat.st_mode) {
            FileType::RegularFile => return Ok(Target::Replace(place)),
            FileType::Directory => return Err(fault(Errno::ISDIR)),
            FileType::Symlink => {
                let link = readlinkat(&place.dir, &place.name, Vec::new()).map_err(fault)?;
                let link = OsString::from_vec(link.into_bytes());
                place = Place::at(place.dir.as_fd(), &place.folder, Path::new(&link))
                    .map_err(|f| f.of(path))?;
            }
            kind => {
                let file = if kind == FileType::Socket {
                    place.connect()
                } else {
                    place.open_existing()
                };
                return file
                    .map(Target::Direct)
                    .map_err(|error| OutputError::new(path, "open", error));
            }
        }
    }
    Err(fault(Errno::LOOP))
}

impl Place {
    /// Opens the folder of `path`, which is relative to `base`. Fails if the folder is missing.
    fn at(base: BorrowedFd<'_>, base_path: &Path, path: &Path) -> Result<Place, super::Fault> {
        let bytes = path.as_os_str().as_bytes();
        let cut = bytes
            .iter()
            .rposition(|&byte| byte == b'/')
            .map_or(0, |slash| slash + 1);
        let (parent, name) = bytes.split_at(cut);
        match name {
            b"" if parent.is_empty() => return Err(super::Fault::new("open", Errno::NOENT)),
            b"" | b"." | b".." => return Err(super::Fault::new("open", Errno::ISDIR)),
            _ => {}
        }
        let parent = match parent.iter().rposition(|&byte| byte != b'/') {
            Some(last) => OsStr::from_bytes(&parent[..=last]),
            None => OsStr::new(if parent.is_empty() { "." } else { "/" }),
        };
        let folder = match base_path == Path::new("") || parent != "." {
            true => base_path.join(parent),
            false => base_path.to_path_buf(),
        };
        let dir = openat(
            base,
            parent,
            FOLDER | OFlags::DIRECTORY | OFlags::CLOEXEC,
            Mode::empty(),
        )
        .map_err(|error| super::Fault::in_folder(&folder, "open this folder", error))?;
        Ok(Place {
            dir,
            folder,
            name: OsStr::from_bytes(name).to_os_string(),
        })
    }

    /// What stands at the name now, without following a link. `None`: nothing.
    pub(crate) fn stat(&self) -> Result<Option<Stat>, Errno> {
        match statat(&self.dir, &self.name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(stat) => Ok(Some(stat)),
            Err(Errno::NOENT) => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Another name in the same folder.
    pub(crate) fn sibling(&self, name: OsString) -> Result<Place, super::Fault> {
        let dir = self.dir.try_clone();
        let dir =
            dir.map_err(|error| super::Fault::in_folder(&self.folder, "open this folder", error))?;
        Ok(Place {
            dir,
            folder: self.folder.clone(),
            name,
        })
    }

    /// What tells the folder from others.
    pub(crate) fn folder_identity(&self) -> Option<(u64, u64)> {
        rustix::fs::fstat(&self.dir).ok().as_ref().map(identity)
    }

    /// Whether this file stands here.
    pub(crate) fn is(&self, file: &std::fs::Metadata) -> bool {
        use std::os::unix::fs::MetadataExt;
        let here = self.stat().ok().flatten();
        here.is_some_and(|here| identity(&here) == (file.dev(), file.ino()))
    }

    fn open_existing(&self) -> io::Result<File> {
        loop {
            match openat(
                &self.dir,
                &self.name,
                OFlags::WRONLY | OFlags::NOCTTY | OFlags::CLOEXEC,
                Mode::empty(),
            ) {
                Ok(fd) => return Ok(fd.into()),
                Err(Errno::INTR) => {}
                Err(error) => return Err(error.into()),
            }
        }
    }

    fn connect(&self) -> io::Result<File> {
        let stream = UnixStream::connect(self.folder.join(&self.name))?;
        Ok(OwnedFd::from(stream).into())
    }
}

#[allow(
    clippy::unnecessary_cast,
    reason = "the types of the fields differ between systems"
)]
fn identity(stat: &Stat) -> (u64, u64) {
    (stat.st_dev as u64, stat.st_ino as u64)
}

/// A folder is only passed through, so the right to list it is not asked for where the system can do without.
#[cfg(any(target_os = "linux", target_os = "android"))]
const FOLDER: OFlags = OFlags::PATH;
#[cfg(not(any(target_os = "linux", target_os = "android")))]
const FOLDER: OFlags = OFlags::RDONLY;

/// Whether the folder is one of the system's own, whose entries are doors to open files rather than files of
/// their own, so that nothing in it can be replaced.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn has_doors(place: &Place) -> bool {
    rustix::fs::fstatfs(&place.dir)
        .is_ok_and(|system| system.f_type == rustix::fs::PROC_SUPER_MAGIC)
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn has_doors(place: &Place) -> bool {
    place.folder == Path::new("/dev/fd")
}

/// Opens such an entry. An open descriptor of this process is shared, so that it is written where its
/// owner would have gone on; opening its file anew would begin at the file's start.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn open_door(place: &Place) -> io::Result<File> {
    let number = place
        .name
        .to_str()
        .and_then(|name| name.parse::<i32>().ok());
    let is_ours = |path: &str| {
        let (dir, ours) = (rustix::fs::fstat(&place.dir), rustix::fs::stat(path));
        matches!((dir, ours), (Ok(dir), Ok(ours)) if (dir.st_dev, dir.st_ino) == (ours.st_dev, ours.st_ino))
    };
    match number {
        Some(number) if is_ours("/proc/self/fd") || is_ours("/proc/thread-self/fd") => {
            share(place, number)
        }
        _ => place.open_existing(),
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn open_door(place: &Place) -> io::Result<File> {
    place.open_existing()
}

/// A second descriptor for this process's descriptor `number`.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn share(place: &Place, number: i32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    if number == 1 {
        return super::direct::stdout();
    }
    let shared = pidfd_open(getpid(), PidfdFlags::empty())
        .and_then(|process| pidfd_getfd(process, number, PidfdGetfdFlags::empty()));
    match shared {
        Ok(fd) => Ok(fd.into()),
        Err(Errno::BADF) => Err(Errno::BADF.into()),
        Err(_) => reopen(place, number),
    }
}

/// Where a kernel or a container forbids sharing: opened anew, at the position and in the append mode of the
/// descriptor.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn reopen(place: &Place, number: i32) -> io::Result<File> {
    use std::io::{Seek, SeekFrom};

    let mut file = place.open_existing()?;
    if file.metadata()?.is_file() {
        let info = std::fs::read_to_string(format!("/proc/self/fdinfo/{number}"))?;
        let field = |name: &str| {
            info.lines()
                .find_map(|line| line.strip_prefix(name))
                .map(str::trim)
        };
        let position = field("pos:")
            .and_then(|text| text.parse().ok())
            .unwrap_or(0);
        file.seek(SeekFrom::Start(position))?;
        let flags = field("flags:")
            .and_then(|text| u32::from_str_radix(text, 8).ok())
            .unwrap_or(0);
        if OFlags::from_bits_retain(flags as _).contains(OFlags::APPEND) {
            rustix::fs::fcntl_setfl(&file, OFlags::APPEND)?;
        }
    }
    Ok(file)
}
