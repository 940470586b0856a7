//! Compressed inputs, which are told by their first bytes and refused: their records are not their lines.

use std::fs::File;
use std::io::Read;
use std::path::Path;

use super::escape;
use super::names::InputName;

/// The first bytes of compressed files, what they are called, and the command that unpacks them.
const MAGIC: [(&[u8], &str, &str); 4] = [
    (b"\x1F\x8B\x08", "gzip", "zcat"),
    (b"\x28\xB5\x2F\xFD", "zstd", "zstdcat"),
    (b"BZh", "bzip2", "bzcat"),
    (b"\xFD7zXZ\0", "xz", "xzcat"),
];

/// Refuses regular files that are compressed.
pub fn refuse_compressed(inputs: &[InputName]) -> anyhow::Result<()> {
    for input in inputs {
        let InputName::Path(path) = input else {
            continue;
        };
        if let Some((name, command)) = compression(path) {
            let shown = escape::name(path);
            anyhow::bail!(
                "{shown}: {name}-compressed, which is not read yet: {command} FILE | inorder ... --from FORMAT"
            );
        }
    }
    Ok(())
}

/// How a regular file is compressed. What can't be read here is told about where it is opened.
fn compression(path: &Path) -> Option<(&'static str, &'static str)> {
    if !path.metadata().is_ok_and(|found| found.is_file()) {
        return None;
    }
    let mut start = Vec::new();
    let file = File::open(path).ok()?;
    file.take(6).read_to_end(&mut start).ok()?;
    let found = MAGIC.iter().find(|(magic, ..)| start.starts_with(magic));
    found.map(|(_, name, command)| (*name, *command))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn compressed_files_are_told_by_their_content() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("data.csv");
        for (bytes, name) in [
            (&b"\x1F\x8B\x08\0\0"[..], Some("gzip")),
            (b"\x28\xB5\x2F\xFD", Some("zstd")),
            (b"BZh9", Some("bzip2")),
            (b"\xFD7zXZ\0\0", Some("xz")),
            (b"BZ,1", None),
            (b"", None),
        ] {
            std::fs::write(&path, bytes).unwrap();
            assert_eq!(compression(&path).map(|found| found.0), name);
        }
        assert!(refuse_compressed(&[InputName::Path(folder.path().into())]).is_ok());
    }
}
