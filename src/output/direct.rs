//! Outputs that are written as they stand: standard output, devices, FIFOs, sockets, inherited descriptors.
//! They are not synced, renamed, truncated or created.

use std::fs::File;
use std::io::{self, IoSlice, Write};
use std::os::fd::{AsFd, OwnedFd};

use rustix::event::{PollFd, PollFlags, poll};
use rustix::fs::{FileType, OFlags, fcntl_getfl, fstat};
use rustix::io::{Errno, fcntl_dupfd_cloexec};

/// An open descriptor that is written directly.
pub(crate) struct Direct {
    file: File,
    kind: FileType,
}

impl Direct {
    /// Refuses a descriptor that is open for reading only: the first write would fail anyway, after the work.
    pub(crate) fn new(file: File) -> io::Result<Direct> {
        if fcntl_getfl(&file)? & OFlags::RWMODE == OFlags::RDONLY {
            return Err(io::Error::other("it is not open for writing"));
        }
        let stat = fstat(&file)?;
        let kind = FileType::from_raw_mode(stat.st_mode);
        Ok(Direct { file, kind })
    }

    pub(crate) fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> io::Result<()> {
        let file = &self.file;
        super::write::write_all(&mut &*file, parts, || wait_until_writable(file))
    }

    pub(crate) fn closed_fd(&self) -> Option<OwnedFd> {
        match self.kind {
            FileType::Fifo | FileType::Socket => self.file.try_clone().ok().map(OwnedFd::from),
            _ => None,
        }
    }

    /// A local file is done once it is written. A remote one may be refused as late as at its close, whose
    /// result a program cannot see without asking for a sync first.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        self.file.flush()?;
        if self.kind == FileType::RegularFile && is_remote(&self.file) {
            self.file.sync_data()?;
        }
        Ok(())
    }
}

/// A descriptor of its own for standard output.
pub(crate) fn stdout() -> io::Result<File> {
    // What the program has printed so far comes first.
    io::stdout().flush()?;
    match fcntl_dupfd_cloexec(rustix::stdio::stdout(), 3) {
        Ok(fd) => Ok(fd.into()),
        Err(Errno::BADF) => Err(io::Error::other("standard output is closed")),
        Err(error) => Err(error.into()),
    }
}

fn wait_until_writable(file: &File) -> io::Result<()> {
    match poll(
        &mut [PollFd::from_borrowed_fd(file.as_fd(), PollFlags::OUT)],
        None,
    ) {
        Ok(_) | Err(Errno::INTR) => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// Whether the file lies on a network or user-space file system.
#[cfg(any(target_os = "linux", target_os = "android"))]
fn is_remote(file: &File) -> bool {
    const NFS: u32 = 0x6969;
    const CIFS: u32 = 0xff53_4d42;
    const SMB2: u32 = 0xfe53_4d42;
    const FUSE: u32 = 0x6573_5546;
    const CEPH: u32 = 0x00c3_6400;
    const AFS: u32 = 0x5346_414f;
    // The field's width and sign depend on the processor; the magic numbers have 32 bits.
    #[allow(
        clippy::unnecessary_cast,
        clippy::cast_sign_loss,
        clippy::cast_possible_truncation
    )]
    match rustix::fs::fstatfs(file) {
        Ok(system) => matches!(system.f_type as u32, NFS | CIFS | SMB2 | FUSE | CEPH | AFS),
        Err(_) => false,
    }
}

#[cfg(not(any(target_os = "linux", target_os = "android")))]
fn is_remote(_: &File) -> bool {
    false
}
