//! What a later run needs to go on where this one stopped.
//!
//! Three lines of text: what this is and the format's number, the state as JSON, and a checksum of both.

use std::fmt;
use std::path::PathBuf;

use serde::{Deserialize, Serialize};

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
    /// Of the header that the records had, if they had one.
    pub header: Option<u32>,
    pub position: Place,
    pub output: FileState,
    pub rejects: Option<RejectsState>,
    pub counters: Counters,
    /// Attempts that failed whole since the last one that did not.
    pub failing_runs: u64,
    /// The process's own memory.
    pub run: Vec<u8>,
}

/// How far a run has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum State {
    Running,
    /// All is written and synced; the files get their names.
    Publishing,
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
    pub path: PathBuf,
    pub identity: Identity,
    /// Bytes that the output's result comes from.
    pub consumed: u64,
    /// Of these bytes.
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

/// How much of a file counts, and what it holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct FileState {
    pub length: u64,
    /// CRC-32 of all of it.
    pub crc: u32,
}

/// Of the two files of failing records.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RejectsState {
    pub path: PathBuf,
    pub records: FileState,
    pub errors: FileState,
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

/// CRC-32 as gzip has it (ISO 3309).
pub(crate) fn crc(bytes: &[u8]) -> u32 {
    let mut digest = Digest::default();
    digest.update(bytes);
    digest.sum()
}

/// A CRC-32 that grows with its bytes.
#[derive(Debug, Clone)]
pub(crate) struct Digest(crc_fast::Digest);

const CRC_32: crc_fast::CrcAlgorithm = crc_fast::CrcAlgorithm::Crc32IsoHdlc;

impl Default for Digest {
    fn default() -> Digest {
        Digest(crc_fast::Digest::new(CRC_32))
    }
}

impl Digest {
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    pub fn sum(&self) -> u32 {
        self.0.finalize() as u32
    }
}

/// The sum of bytes whose parts have these, the second of which has so many.
pub(crate) fn combine(first: u32, second: u32, second_len: u64) -> u32 {
    crc_fast::checksum_combine(CRC_32, first.into(), second.into(), second_len) as u32
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
                identity: Identity {
                    device: u64::MAX,
                    inode: 2,
                    length: 3,
                    modified: (-4, 5),
                },
                consumed: 6,
                crc: 7,
            }],
            header: Some(8),
            position: Place {
                offset: 9,
                records: 10,
                lines: 11,
            },
            output: FileState {
                length: 12,
                crc: u32::MAX,
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

    #[test]
    fn sums_are_those_of_gzip_and_combine() {
        assert_eq!(crc(b"123456789"), 0xcbf4_3926);
        assert_eq!(crc(b""), 0);
        let bytes: Vec<u8> = (0..100_000u32).map(|n| (n * 7 % 251) as u8).collect();
        for cut in [0, 1, 777, 65_536, 100_000] {
            let (first, second) = bytes.split_at(cut);
            let both = combine(crc(first), crc(second), second.len() as u64);
            assert_eq!(both, crc(&bytes));
        }
        let mut digest = Digest::default();
        bytes.chunks(999).for_each(|part| digest.update(part));
        assert_eq!(digest.sum(), crc(&bytes));
    }
}
