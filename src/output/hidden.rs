//! Hidden names for files that are not published yet, and the removal of those that a killed run left.
//!
//! A file in the making is `.NAME.NUMBER.inorder` beside its target. Whoever makes one holds a lock (`flock`) on
//! it for as long as the name exists, and the kernel drops the lock when the process ends, in whatever way. So a
//! name whose lock can be had belongs to nobody and may be removed; where the file system has no locks, nothing
//! is removed. The numbers are few and known, so that no folder is listed, however many files it holds.

use std::ffi::{OsStr, OsString};
use std::hash::{BuildHasher, RandomState};
use std::os::fd::AsFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use rustix::fs::{
    AtFlags, FileType, FlockOperation, Mode, OFlags, Stat, flock, fstat, openat, statat, unlinkat,
};
use rustix::io::Errno;

use super::target::Place;

/// So many numbered names are tried first, and looked at for removal. Only as many runs that publish the same
/// target at the same time, or locks that cannot be had, lead beyond: to random names.
const NUMBERED: u32 = 8;

/// The names to try, in order.
pub(crate) fn names(place: &Place) -> impl Iterator<Item = OsString> {
    let longest = rustix::fs::fstatvfs(&place.dir)
        .ok()
        .and_then(|system| usize::try_from(system.f_namemax).ok())
        .filter(|&longest| longest > 0)
        .map_or(255, |longest| longest.min(255));
    let target = place.name.clone();
    (0..NUMBERED * 4).map(move |number| match number {
        0..NUMBERED => hidden_name(&target, &number.to_string(), longest),
        _ => hidden_name(
            &target,
            &format!("{:016x}", RandomState::new().hash_one(number)),
            longest,
        ),
    })
}

/// `.NAME.TAG.inorder`, with NAME cut, between two characters, to what a file name may hold.
fn hidden_name(target: &OsStr, tag: &str, longest: usize) -> OsString {
    let room = longest.saturating_sub(".".len() + ".".len() + tag.len() + ".inorder".len());
    let target = target.as_bytes();
    let mut cut = target.len().min(room);
    while cut > 0 && target.get(cut).is_some_and(|byte| byte & 0xc0 == 0x80) {
        cut -= 1;
    }
    let name = [b".", &target[..cut], b".", tag.as_bytes(), b".inorder"].concat();
    OsString::from_vec(name)
}

/// Removes what killed runs to the same target have left. Whatever is in doubt stays.
pub(crate) fn remove_stale(place: &Place) {
    for name in names(place).take(NUMBERED as usize) {
        remove_if_stale(place, &name);
    }
}

fn remove_if_stale(place: &Place, name: &OsStr) -> Option<()> {
    let is_file = |stat: &Stat| FileType::from_raw_mode(stat.st_mode) == FileType::RegularFile;
    statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW)
        .ok()
        .filter(is_file)?;
    let flags = OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::CLOEXEC;
    // Network file systems grant the lock only to a descriptor that may write.
    let file = openat(&place.dir, name, OFlags::RDWR | flags, Mode::empty())
        .or_else(|_| openat(&place.dir, name, OFlags::RDONLY | flags, Mode::empty()))
        .ok()?;
    flock(&file, FlockOperation::NonBlockingLockExclusive).ok()?;
    if fstat(&file).is_ok_and(|stat| is_file(&stat)) && is_at(place, name, &file) {
        unlinkat(&place.dir, name, AtFlags::empty()).ok()?;
    }
    Some(())
}

/// Marks an open file as ours until it is closed. `false`: somebody is about to remove it.
pub(crate) fn lock(file: impl AsFd) -> bool {
    // Without locks on this file system nobody can take it for stale either.
    flock(file, FlockOperation::NonBlockingLockExclusive) != Err(Errno::WOULDBLOCK)
}

/// Whether `name` is the open `file`.
pub(crate) fn is_at(place: &Place, name: &OsStr, file: impl AsFd) -> bool {
    let there = statat(&place.dir, name, AtFlags::SYMLINK_NOFOLLOW);
    let here = fstat(file);
    matches!((there, here), (Ok(there), Ok(here)) if (there.st_dev, there.st_ino) == (here.st_dev, here.st_ino))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_hidden_name_fits_and_is_cut_between_characters() {
        assert_eq!(
            hidden_name(OsStr::new("out.csv"), "0", 255),
            ".out.csv.0.inorder"
        );
        for length in 0..=255 {
            let name = hidden_name(
                OsStr::from_bytes(&vec![b'x'; length]),
                "0123456789abcdef",
                255,
            );
            assert!(name.len() <= 255);
            assert!(name.len() > length || name.len() == 255);
        }
        let name = hidden_name(OsStr::new(&"ü".repeat(127)), "0", 255);
        assert!(name.to_str().is_some());
        assert!(name.len() >= 253 && name.len() <= 255);
        assert_eq!(
            hidden_name(OsStr::from_bytes(&[0x80; 255]), "0", 20),
            "..0.inorder"
        );
    }
}
