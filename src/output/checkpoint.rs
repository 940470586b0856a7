//! What a later run needs to go on where this one stopped.
//!
//! Three lines of text: what this is and the format's number, the state as JSON, and a checksum of both.

use std::ffi::OsString;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::pack::Named;
use crate::checksum::crc;
use crate::summary::Counters;

/// Raised only when a run that goes on from an older state would write other bytes.
const FORMAT: u32 = 1;

const MAGIC: &str = "inorder checkpoint ";

/// The state of a run behind a chunk.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Checkpoint {
    /// For people: any version of the format goes on from it.
    pub version: String,
    pub state: State,
    /// Everything that the output depends on, by name.
    pub settings: Vec<(String, String)>,
    /// The inputs that were opened, in order; the last one is the one to go on with.
    pub inputs: Vec<InputState>,
    /// The header that was written, if one was.
    pub header: Option<HeaderState>,
    pub position: Place,
    pub output: OutputState,
    pub rejects: Option<RejectsState>,
    pub counters: Counters,
    /// Chunks, and parts of them, that failed whole since the last one that did not.
    pub failing_runs: u64,
    /// The process's own memory.
    pub run: Vec<u8>,
}

/// A header that the work gave.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct HeaderState {
    /// The input's has no end, and was given one.
    pub lacks_end: bool,
    /// CRC-32 of what the work gave.
    pub crc: u32,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Running,
    /// All is written and synced; the files get their names.
    Publishing,
    /// What is written may be wrong: nobody may go on from it.
    Untrusted,
}

/// A place in the last input.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Place {
    /// Bytes of the (decoded) stream before it.
    pub offset: u64,
    /// Records of the input before it.
    pub records: u64,
    /// LF bytes of the input before it.
    pub lines: u64,
}

/// An input, as it was when it was opened.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct InputState {
    /// As text it could not be of any bytes.
    pub path: OsString,
    /// `None`: an empty file, or none that can be looked at again.
    pub identity: Option<Identity>,
    /// Bytes that the output comes from.
    pub summed: Summed,
}

/// So many of the first bytes of an input, and their checksum.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Summed {
    pub bytes: u64,
    pub crc: u32,
}

/// What tells a file from another one, and from what it becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Identity {
    pub device: u64,
    pub inode: u64,
    pub length: u64,
    /// Seconds and nanoseconds.
    pub modified: (i64, i64),
}

impl Identity {
    /// Of a file's metadata.
    #[cfg(unix)]
    pub fn of(metadata: &std::fs::Metadata) -> Identity {
        use std::os::unix::fs::MetadataExt;
        Identity {
            device: metadata.dev(),
            inode: metadata.ino(),
            length: metadata.len(),
            modified: (metadata.mtime(), metadata.mtime_nsec()),
        }
    }

    #[cfg(not(unix))]
    pub fn of(metadata: &std::fs::Metadata) -> Identity {
        Identity {
            device: 0,
            inode: 0,
            length: metadata.len(),
            modified: (0, 0),
        }
    }
}

/// How much of a file counts, and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    pub length: u64,
    /// CRC-32 of all of it.
    pub crc: u32,
}

/// What was written to an output.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct OutputState {
    #[serde(flatten)]
    pub file: FileState,
    /// What is not in the file yet, because it is to be compressed with what follows it.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub pending: Vec<u8>,
}

/// Of the two files of failing records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RejectsState {
    pub path: OsString,
    /// What compresses the records.
    #[serde(default)]
    pub compress: Option<Named>,
    pub records: OutputState,
    pub errors: OutputState,
    /// The record written last has no end.
    pub lacks_end: bool,
}

/// Why bytes are no checkpoint to go on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Garbled {
    /// It is none, or not whole.
    Damaged,
    /// Of a program whose runs give other bytes.
    OtherFormat(u32),
}

impl fmt::Display for Garbled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Garbled::Damaged => f.write_str("the checkpoint is damaged"),
            Garbled::OtherFormat(number) => write!(
                f,
                "the checkpoint has format {number}, this program goes on from format {FORMAT} only"
            ),
        }
    }
}

impl std::error::Error for Garbled {}

impl Checkpoint {
    pub fn encode(&self) -> Result<Vec<u8>, serde_json::Error> {
        let mut bytes = format!("{MAGIC}{FORMAT}\n").into_bytes();
        serde_json::to_writer(&mut bytes, self)?;
        bytes.push(b'\n');
        let crc = crc(&bytes);
        bytes.extend_from_slice(format!("{crc:08x}\n").as_bytes());
        Ok(bytes)
    }

    pub fn decode(bytes: &[u8]) -> Result<Checkpoint, Garbled> {
        let text = std::str::from_utf8(bytes).map_err(|_| Garbled::Damaged)?;
        let body = text.len().checked_sub("01234567\n".len());
        let (body, sum) = body
            .and_then(|body| text.split_at_checked(body))
            .ok_or(Garbled::Damaged)?;
        if sum != format!("{:08x}\n", crc(body.as_bytes())) {
            return Err(Garbled::Damaged);
        }
        let rest = body.strip_prefix(MAGIC).ok_or(Garbled::Damaged)?;
        let (number, json) = rest.split_once('\n').ok_or(Garbled::Damaged)?;
        match number.parse() {
            Ok(FORMAT) => serde_json::from_str(json).map_err(|_| Garbled::Damaged),
            Ok(other) => Err(Garbled::OtherFormat(other)),
            Err(_) => Err(Garbled::Damaged),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn checkpoint() -> Checkpoint {
        Checkpoint {
            version: "1.2.3".to_owned(),
            state: State::Running,
            settings: vec![("key".to_owned(), "a \"b\"\n".to_owned())],
            inputs: vec![InputState {
                path: "in.csv".into(),
                identity: Some(Identity {
                    device: u64::MAX,
                    inode: 2,
                    length: 3,
                    modified: (-4, 5),
                }),
                summed: Summed { bytes: 6, crc: 7 },
            }],
            header: Some(HeaderState {
                lacks_end: false,
                crc: 8,
            }),
            position: Place {
                offset: 9,
                records: 10,
                lines: 11,
            },
            output: OutputState {
                file: FileState {
                    length: 12,
                    crc: u32::MAX,
                },
                pending: vec![1, 2],
            },
            rejects: None,
            counters: Counters::default(),
            failing_runs: 13,
            run: vec![0, 255],
        }
    }

    #[test]
    fn it_comes_back() {
        let before = checkpoint();
        let bytes = before.encode().unwrap();
        assert_eq!(Checkpoint::decode(&bytes), Ok(before));
    }

    #[test]
    fn every_damage_is_seen() {
        let bytes = checkpoint().encode().unwrap();
        for end in 0..bytes.len() {
            assert_eq!(Checkpoint::decode(&bytes[..end]), Err(Garbled::Damaged));
        }
        for at in 0..bytes.len() {
            for change in [1, 0x20, 0x80] {
                let mut changed = bytes.clone();
                changed[at] ^= change;
                assert!(Checkpoint::decode(&changed).is_err(), "byte {at}");
            }
        }
        assert!(Checkpoint::decode(&[&bytes[..], b"\n"].concat()).is_err());
    }

    #[test]
    fn another_format_is_named() {
        let bytes = checkpoint().encode().unwrap();
        let text = String::from_utf8(bytes).unwrap();
        let body = text.replacen("checkpoint 1\n", "checkpoint 7\n", 1);
        let body = &body[..body.len() - 9];
        let bytes = format!("{body}{:08x}\n", crc(body.as_bytes()));
        assert_eq!(
            Checkpoint::decode(bytes.as_bytes()),
            Err(Garbled::OtherFormat(7))
        );
    }
}
