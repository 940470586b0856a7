//! Files that must not be one: an input and the output or report that would overwrite it.

use std::fs::{self, Metadata};
use std::path::Path;

use inorder::Rejects;

use super::escape;
use super::names::InputName;
use super::status::usage;

/// Refuses an input that is the regular file that standard output goes to: it would be read while it is written.
///
/// An output that is named with `--output` may be an input: it gets its name only when it is whole.
pub fn refuse_input_as_stdout(inputs: &[InputName]) -> anyhow::Result<()> {
    let Some(stdout) = stdout_file() else {
        return Ok(());
    };
    let Some(input) = inputs
        .iter()
        .find(|input| identity(input) == Some(stdout.id))
    else {
        return Ok(());
    };
    let emptied = if stdout.size == 0 {
        ": the shell has emptied it; name the output with --output instead of > next time"
    } else {
        ": name the output with --output instead of > or >>"
    };
    Err(usage(format!(
        "{}: input file is standard output{emptied}",
        input.shown()
    )))
}

/// Refuses a path for figures that is an input or the output.
pub fn refuse_stats_over(
    stats: &Path,
    inputs: &[InputName],
    output: Option<&Path>,
) -> anyhow::Result<()> {
    let same_name = output.is_some_and(|path| is_same_name(path, stats));
    let id = fs::metadata(stats).ok().and_then(|found| file_id(&found));
    let same_file = id.is_some()
        && (inputs.iter().any(|input| identity(input) == id)
            || output.is_some_and(|path| path_id(path) == id)
            || stdout_file().is_some_and(|stdout| Some(stdout.id) == id));
    if same_name || same_file {
        return Err(usage(format!(
            "{}: --stats would overwrite an input or the output",
            escape::name(stats)
        )));
    }
    Ok(())
}

/// Refuses a place for rejects that is no file, an input, or another file that the run writes.
pub fn refuse_rejects_over(
    rejects: &Path,
    inputs: &[InputName],
    others: &[Option<&Path>],
) -> anyhow::Result<()> {
    for path in [rejects, &Rejects::errors_path(rejects)] {
        let refuse = |what: &str| Err(usage(format!("{}: --rejects {what}", escape::name(path))));
        let found = fs::metadata(path).ok();
        if found.as_ref().is_some_and(|found| !found.is_file()) {
            return refuse("needs a regular file: it writes two, side by side");
        }
        let id = found.and_then(|found| file_id(&found));
        let is_same =
            |other: &Path| is_same_name(other, path) || id.is_some() && path_id(other) == id;
        if others.iter().flatten().any(|other| is_same(other))
            || id.is_some() && stdout_file().map(|stdout| stdout.id) == id
        {
            return refuse("would overwrite another file of this run");
        }
        if id.is_some() && inputs.iter().any(|input| identity(input) == id) {
            return refuse("would overwrite an input");
        }
    }
    Ok(())
}

/// Whether both name one file, which need not be there.
fn is_same_name(one: &Path, other: &Path) -> bool {
    let place = |path: &Path| {
        let folder = match path.parent() {
            Some(folder) if folder != Path::new("") => folder,
            _ => Path::new("."),
        };
        Some((folder.canonicalize().ok()?, path.file_name()?.to_owned()))
    };
    one == other || place(one).is_some_and(|place_of_one| place(other) == Some(place_of_one))
}

/// Device and inode of a regular file.
type FileId = (u64, u64);

struct StdoutFile {
    id: FileId,
    size: u64,
}

fn identity(input: &InputName) -> Option<FileId> {
    match input {
        InputName::Path(path) => path_id(path),
        InputName::Stdin => stdin_id(),
    }
}

fn path_id(path: &Path) -> Option<FileId> {
    fs::metadata(path).ok().and_then(|found| file_id(&found))
}

#[cfg(unix)]
fn file_id(found: &Metadata) -> Option<FileId> {
    use std::os::unix::fs::MetadataExt;
    found.is_file().then(|| (found.dev(), found.ino()))
}

#[cfg(not(unix))]
fn file_id(_: &Metadata) -> Option<FileId> {
    None
}

#[cfg(unix)]
fn stdin_id() -> Option<FileId> {
    regular(rustix::stdio::stdin()).map(|file| file.id)
}

#[cfg(unix)]
fn stdout_file() -> Option<StdoutFile> {
    regular(rustix::stdio::stdout())
}

#[cfg(unix)]
fn regular(fd: rustix::fd::BorrowedFd<'_>) -> Option<StdoutFile> {
    use rustix::fs::{FileType, fstat};
    // The types of these fields differ between systems.
    #[allow(clippy::unnecessary_cast, clippy::useless_conversion)]
    fstat(fd)
        .ok()
        .filter(|found| FileType::from_raw_mode(found.st_mode).is_file())
        .map(|found| StdoutFile {
            id: (found.st_dev as u64, found.st_ino as u64),
            size: found.st_size as u64,
        })
}

#[cfg(not(unix))]
fn stdin_id() -> Option<FileId> {
    None
}

#[cfg(not(unix))]
fn stdout_file() -> Option<StdoutFile> {
    None
}
