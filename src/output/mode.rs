//! The mode and owner of a new file: those of the file it replaces, else what the umask leaves.

use std::fs::File;
use std::io;
use std::os::unix::fs::fchown;

use rustix::fs::{Mode, RawMode, Stat, fchmod, fstat};
use rustix::io::Errno;

/// Gives `file`, still private, the mode and owner under which it will be published. `old` is the file that it
/// replaces.
pub(crate) fn settle(file: &File, old: Option<&Stat>) -> io::Result<()> {
    let mode = match old {
        None => Mode::from_raw_mode(0o666) - umask(),
        Some(old) => {
            let (owner_kept, group_kept) = keep_owner(file, old)?;
            kept_mode(Mode::from_raw_mode(old.st_mode), owner_kept, group_kept)
        }
    };
    match fchmod(file, mode) {
        // Some file systems (FAT, network ones) hold no modes. The file stays as narrow as it was made.
        Err(Errno::PERM | Errno::OPNOTSUPP | Errno::NOSYS) => Ok(()),
        done => Ok(done?),
    }
}

/// Gives the file the owner and group of `old` as far as the system allows; says which of the two it has now.
fn keep_owner(file: &File, old: &Stat) -> io::Result<(bool, bool)> {
    let new = fstat(file)?;
    if (new.st_uid, new.st_gid) == (old.st_uid, old.st_gid) {
        return Ok((true, true));
    }
    if fchown(file, Some(old.st_uid), Some(old.st_gid)).is_ok() {
        return Ok((true, true));
    }
    let group = new.st_gid == old.st_gid || fchown(file, None, Some(old.st_gid)).is_ok();
    Ok((new.st_uid == old.st_uid, group))
}

/// The old mode, but never more for anybody than before: rights of a set-id bit only under its own owner and
/// group, and those of a group that was lost only where everybody has them.
fn kept_mode(old: Mode, owner_kept: bool, group_kept: bool) -> Mode {
    let mut mode = old & Mode::from_raw_mode(0o7777);
    if !(owner_kept && group_kept) {
        mode -= Mode::SUID | Mode::SGID;
    }
    if !group_kept {
        let others = (mode & Mode::RWXO).as_raw_mode();
        mode -= Mode::RWXG - Mode::from_raw_mode(others << 3);
    }
    mode
}

/// The process's umask, read where the system shows it, so that it need not be changed for an instant.
fn umask() -> Mode {
    let shown = std::fs::read_to_string("/proc/self/status")
        .ok()
        .and_then(|status| {
            let line = status
                .lines()
                .find_map(|line| line.strip_prefix("Umask:"))?;
            RawMode::from_str_radix(line.trim(), 8).ok()
        });
    match shown {
        Some(mask) => Mode::from_raw_mode(mask),
        None => {
            // A file made by another thread between these two calls is too private, never too open.
            let mask = rustix::process::umask(Mode::RWXG | Mode::RWXO);
            rustix::process::umask(mask);
            mask
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rights_that_would_go_to_others_are_dropped() {
        let kept =
            |mode, owner, group| kept_mode(Mode::from_raw_mode(mode), owner, group).as_raw_mode();
        assert_eq!(kept(0o106755, true, true), 0o6755);
        assert_eq!(kept(0o6755, false, true), 0o755);
        assert_eq!(kept(0o6755, true, false), 0o755);
        assert_eq!(kept(0o640, true, false), 0o600);
        assert_eq!(kept(0o664, false, false), 0o644);
        assert_eq!(kept(0o666, false, false), 0o666);
        assert_eq!(kept(0o1777, true, true), 0o1777);
    }

    #[test]
    fn the_umask_is_the_one_the_system_uses() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let made = File::create(folder.path().join("made")).unwrap();
        let mode = made.metadata().unwrap().permissions().mode() & 0o7777;
        assert_eq!(mode, (Mode::from_raw_mode(0o666) - umask()).as_raw_mode());
    }
}
