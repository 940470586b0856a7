//! How large the chunks are: a function of the input alone, because a command shows where its input ends.

use crate::cli::names::InputName;

/// What is not read from regular files.
const STREAM: u64 = 1 << 20;
/// With `-N` the records decide, up to this.
const WITH_RECORDS: usize = 16 << 20;

/// The size for these inputs: together a 64th, at least 64 KiB, at most 4 MiB.
pub fn of(inputs: &[InputName], records: bool) -> usize {
    if records {
        return WITH_RECORDS;
    }
    let sizes: Option<Vec<u64>> = inputs.iter().map(size).collect();
    let size = sizes.map_or(STREAM, |sizes| {
        (sizes.iter().sum::<u64>() / 64).clamp(64 << 10, 4 << 20)
    });
    usize::try_from(size).unwrap_or(WITH_RECORDS)
}

/// The size of a regular file that has one.
fn size(input: &InputName) -> Option<u64> {
    let InputName::Path(path) = input else {
        return None;
    };
    let data = path.metadata().ok()?;
    (data.is_file() && data.len() > 0).then_some(data.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn a_64th_within_bounds() {
        let folder = tempfile::tempdir().unwrap();
        let file = |len: u64| {
            let path = folder.path().join(len.to_string());
            File::create(&path).unwrap().set_len(len).unwrap();
            InputName::Path(path)
        };
        assert_eq!(of(&[file(1000)], false), 64 << 10);
        assert_eq!(of(&[file(64 << 20)], false), 1 << 20);
        assert_eq!(of(&[file(32 << 20), file(96 << 20)], false), 2 << 20);
        assert_eq!(of(&[file(10 << 30)], false), 4 << 20);
        assert_eq!(of(&[file(1000), InputName::Stdin], false), 1 << 20);
        assert_eq!(of(&[file(0)], false), 1 << 20);
        assert_eq!(of(&[file(1000)], true), 16 << 20);
    }
}
