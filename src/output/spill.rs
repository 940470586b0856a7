//! Files without a name, for output that is too large for memory.

use std::fs::File;
use std::io;
use std::path::Path;

/// A new empty file that has no name, so that it is gone when it is closed, however the process ends. It is
/// made in the folder `near`, else in the system's folder for temporary files.
pub(crate) fn spill_file(near: Option<&Path>) -> io::Result<File> {
    let folder = match near {
        Some(folder) => folder.to_path_buf(),
        None => std::env::temp_dir(),
    };
    #[cfg(any(target_os = "linux", target_os = "android"))]
    {
        use rustix::fs::{Mode, OFlags};
        // O_EXCL: nobody can give it a name later.
        let flags = OFlags::TMPFILE | OFlags::RDWR | OFlags::EXCL | OFlags::CLOEXEC;
        if let Ok(file) = rustix::fs::open(&folder, flags, Mode::RUSR | Mode::WUSR) {
            return Ok(file.into());
        }
    }
    tempfile::tempfile_in(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Seek, Write};

    #[test]
    fn a_spill_file_reads_back_and_has_no_name() {
        let folder = tempfile::tempdir().unwrap();
        for near in [Some(folder.path()), None] {
            let mut file = spill_file(near).unwrap();
            file.write_all(b"spilled").unwrap();
            file.rewind().unwrap();
            let mut back = String::new();
            file.read_to_string(&mut back).unwrap();
            assert_eq!(back, "spilled");
            assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
        }
        assert!(spill_file(Some(&folder.path().join("missing"))).is_err());
    }
}
