//! Names of inputs and outputs, and what they tell.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};

use anyhow::Context;

use super::args::FormatArg;
use super::status::usage;
use super::{escape, streams};

/// Where records come from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InputName {
    Stdin,
    Path(PathBuf),
}

/// Where bytes go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OutputName {
    Stdout,
    Path(PathBuf),
}

impl InputName {
    pub fn typed(name: PathBuf) -> InputName {
        if name.as_os_str() == "-" {
            InputName::Stdin
        } else {
            InputName::Path(name)
        }
    }

    /// The name as it is shown.
    pub fn shown(&self) -> String {
        match self {
            InputName::Stdin => "<stdin>".to_string(),
            InputName::Path(path) => escape::name(path),
        }
    }
}

impl OutputName {
    pub fn typed(name: PathBuf) -> OutputName {
        // The other names of standard output, so that all of them behave as `-` does.
        let names = ["-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"];
        if names.iter().any(|known| name.as_os_str() == *known) {
            OutputName::Stdout
        } else {
            OutputName::Path(name)
        }
    }

    /// The path, if it is one.
    pub fn path(&self) -> Option<&Path> {
        match self {
            OutputName::Stdout => None,
            OutputName::Path(path) => Some(path),
        }
    }
}

/// The inputs in their order: at least one.
pub fn inputs(named: Vec<PathBuf>, list: Option<&Path>) -> anyhow::Result<Vec<InputName>> {
    let names = match list {
        Some(list) => names_from(list)?,
        None => named,
    };
    let mut inputs: Vec<InputName> = names.into_iter().map(InputName::typed).collect();
    if inputs.is_empty() {
        inputs.push(InputName::Stdin);
    }
    if inputs
        .iter()
        .filter(|input| **input == InputName::Stdin)
        .count()
        > 1
    {
        return Err(usage("standard input is named more than once"));
    }
    Ok(inputs)
}

/// The names in the list, each ended by a NUL byte.
fn names_from(list: &Path) -> anyhow::Result<Vec<PathBuf>> {
    let shown = escape::name(list);
    let mut bytes = Vec::new();
    let read = if list.as_os_str() == "-" {
        streams::need_input()?;
        io::stdin().lock().read_to_end(&mut bytes).map(drop)
    } else {
        fs::File::open(list).and_then(|mut file| file.read_to_end(&mut bytes).map(drop))
    };
    read.with_context(|| format!("{shown}: cannot be read"))?;
    let names: Vec<PathBuf> = bytes
        .strip_suffix(b"\0")
        .unwrap_or(&bytes)
        .split(|byte| *byte == 0)
        .map(path_of)
        .collect::<Option<_>>()
        .ok_or_else(|| usage(format!("{shown}: a name is not valid on this system")))?;
    if bytes.is_empty() || names.iter().any(|name| name.as_os_str().is_empty()) {
        return Err(usage(format!(
            "{shown}: no name, or an empty one, in the list"
        )));
    }
    if list.as_os_str() == "-" && names.iter().any(|name| name.as_os_str() == "-") {
        return Err(usage(
            "the list on standard input can't name standard input",
        ));
    }
    Ok(names)
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    use std::os::unix::ffi::OsStrExt;
    Some(PathBuf::from(OsStr::from_bytes(name)))
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> Option<PathBuf> {
    std::str::from_utf8(name).ok().map(PathBuf::from)
}

/// The format that a name tells, the suffix of a compression left aside.
pub fn format_of_name(name: &Path) -> Option<FormatArg> {
    let suffix = |name: &Path| {
        let suffix = name.extension().and_then(OsStr::to_str);
        suffix.map(str::to_ascii_lowercase)
    };
    let outer = suffix(name)?;
    let inner = match outer.as_str() {
        "gz" | "bgz" | "zst" | "bz2" | "xz" => suffix(Path::new(name.file_stem()?))?,
        _ => outer,
    };
    match inner.as_str() {
        "csv" => Some(FormatArg::Csv),
        "tsv" | "tab" => Some(FormatArg::Tsv),
        "ndjson" | "jsonl" | "json" => Some(FormatArg::Ndjson),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn formats_by_name() {
        for (name, format) in [
            ("a.csv", Some(FormatArg::Csv)),
            ("dir.csv/a", None),
            ("A.CSV", Some(FormatArg::Csv)),
            ("a.tsv", Some(FormatArg::Tsv)),
            ("a.tab", Some(FormatArg::Tsv)),
            ("a.ndjson", Some(FormatArg::Ndjson)),
            ("a.jsonl.zst", Some(FormatArg::Ndjson)),
            ("a.json", Some(FormatArg::Ndjson)),
            ("a.csv.gz", Some(FormatArg::Csv)),
            ("a.gz", None),
            ("a.csv.txt", None),
            ("csv", None),
            (".csv", None),
            ("", None),
        ] {
            assert_eq!(format_of_name(Path::new(name)), format, "{name}");
        }
    }

    #[test]
    fn lists_of_names() {
        let folder = tempfile::tempdir().unwrap();
        let list = folder.path().join("list");
        let names = |bytes: &[u8]| {
            fs::write(&list, bytes).unwrap();
            inputs(Vec::new(), Some(&list)).map_err(|error| error.to_string())
        };
        let path = |name: &str| InputName::Path(PathBuf::from(name));
        assert_eq!(names(b"a\0b\nc\0"), Ok(vec![path("a"), path("b\nc")]));
        assert_eq!(names(b"a\0-"), Ok(vec![path("a"), InputName::Stdin]));
        for bytes in [&b""[..], b"\0", b"a\0\0b\0", b"-\0-\0"] {
            assert!(names(bytes).is_err(), "{bytes:?}");
        }
    }
}
