//! A file that appears under its name only when it is whole, for systems that are no Unix.

use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

use tempfile::NamedTempFile;

use super::Fault;

/// The file in the making. Dropped before [`finish`](Unpublished::finish) it leaves nothing.
#[derive(Debug)]
pub(crate) struct Unpublished {
    file: NamedTempFile,
    folder: PathBuf,
    target: PathBuf,
}

impl Unpublished {
    /// Makes the temporary file beside the target, which is the end of the path's symbolic links.
    pub(crate) fn create(path: &Path) -> Result<Unpublished, Fault> {
        let target = match path.canonicalize() {
            Ok(target) if target.is_dir() => {
                return Err(Fault::new(
                    "open",
                    io::Error::from(io::ErrorKind::IsADirectory),
                ));
            }
            Ok(target) => target,
            Err(error) if error.kind() == io::ErrorKind::NotFound => path.to_path_buf(),
            Err(error) => return Err(Fault::new("open", error)),
        };
        if target
            .metadata()
            .is_ok_and(|found| found.permissions().readonly())
        {
            return Err(Fault::new(
                "replace",
                io::Error::from(io::ErrorKind::PermissionDenied),
            ));
        }
        let folder = match target.parent() {
            Some(folder) if folder != Path::new("") => folder.to_path_buf(),
            _ => PathBuf::from("."),
        };
        let file = tempfile::Builder::new()
            .prefix(".")
            .suffix(".inorder")
            .tempfile_in(&folder)
            .map_err(|error| Fault::in_folder(&folder, "write in this folder", error))?;
        Ok(Unpublished {
            file,
            folder,
            target,
        })
    }

    pub(crate) fn file(&self) -> &File {
        self.file.as_file()
    }

    pub(crate) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(crate) fn temporary(&self) -> Option<PathBuf> {
        Some(self.file.path().to_path_buf())
    }

    /// Publishes the file.
    pub(crate) fn finish(self) -> Result<(), Fault> {
        self.file
            .as_file()
            .sync_all()
            .map_err(|error| Fault::new("sync", error))?;
        self.file
            .persist(&self.target)
            .map_err(|error| Fault::new("replace", error.error))?;
        Ok(())
    }
}
