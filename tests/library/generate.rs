//! Random inputs, formats and settings.

use std::path::PathBuf;

use inorder::{Builder, Format, OnError, Pipeline};
use proptest::collection::vec;
use proptest::prelude::*;
use proptest::sample::select;
use tempfile::TempDir;

/// How an input comes in.
#[derive(Debug, Clone)]
pub enum Way {
    Bytes,
    /// Reads of so many bytes, in turn.
    Reader(Vec<usize>),
    Read,
    Mapped,
}

/// Where the output goes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Place {
    Memory,
    File,
}

/// The settings that must not change the result.
#[derive(Debug, Clone)]
pub struct How {
    pub way: Way,
    pub place: Place,
    pub threads: usize,
    pub chunk_size: Option<usize>,
    pub chunk_records: u64,
    pub memory: usize,
}

/// The settings that the result depends on.
#[derive(Debug, Clone)]
pub struct What {
    pub format: Format,
    pub skip: bool,
    pub output_header: bool,
    pub blank_lines: bool,
    pub limit: u64,
    pub skip_lines: u64,
    pub max_record_size: usize,
}

impl What {
    pub fn builder(&self) -> Builder {
        let on_error = if self.skip {
            OnError::Skip
        } else {
            OnError::Stop
        };
        Pipeline::builder()
            .format(self.format.clone())
            .on_error(on_error)
            .output_header(self.output_header)
            .blank_lines(self.blank_lines)
            .limit(self.limit)
            .skip_lines(self.skip_lines)
            .max_record_size(self.max_record_size)
    }

    /// Nothing but failing records keeps bytes from the output.
    pub fn keeps_all(&self) -> bool {
        self.output_header && self.blank_lines && self.limit == u64::MAX
    }
}

impl How {
    pub fn set(&self, builder: Builder) -> Builder {
        let builder = builder
            .threads(self.threads)
            .chunk_records(self.chunk_records)
            .memory(self.memory);
        // SAFETY: the test's files do not change.
        let builder = unsafe { builder.memory_map(matches!(self.way, Way::Mapped)) };
        match self.chunk_size {
            Some(bytes) => builder.chunk_size(bytes),
            None => builder,
        }
    }
}

/// Mostly `usual`, at times one of the others.
fn mostly<T, S>(usual: T, other: S) -> BoxedStrategy<T>
where
    T: Clone + std::fmt::Debug + 'static,
    S: Strategy<Value = T> + 'static,
{
    prop_oneof![3 => Just(usual), 1 => other].boxed()
}

pub fn way() -> BoxedStrategy<Way> {
    let short = vec(prop_oneof![1..9usize, 1..3000usize], 1..6);
    prop_oneof![
        Just(Way::Bytes),
        short.prop_map(Way::Reader),
        Just(Way::Read),
        Just(Way::Mapped),
    ]
    .boxed()
}

pub fn chunk_size() -> BoxedStrategy<Option<usize>> {
    prop_oneof![
        2 => Just(None),
        1 => Just(Some(1)),
        1 => Just(Some(7)),
        2 => (2..60usize).prop_map(Some),
        1 => (1000..9000usize).prop_map(Some),
        1 => Just(Some(1 << 20)),
    ]
    .boxed()
}

pub fn how() -> BoxedStrategy<How> {
    (
        way(),
        prop_oneof![3 => Just(Place::Memory), 1 => Just(Place::File)],
        select(vec![1usize, 2, 3, 7, 64]),
        chunk_size(),
        mostly(u64::MAX, 1..6u64),
        select(vec![1usize, 2_000, 20_000, 0]),
    )
        .prop_map(
            |(way, place, threads, chunk_size, chunk_records, memory)| How {
                way,
                place,
                threads,
                chunk_size,
                chunk_records,
                memory,
            },
        )
        .boxed()
}

pub fn what() -> BoxedStrategy<What> {
    (
        format(),
        any::<bool>(),
        mostly(true, Just(false)),
        mostly(true, Just(false)),
        mostly(u64::MAX, 0..20u64),
        mostly(0, 0..4u64),
        mostly(16 << 20, 1..40usize),
    )
        .prop_map(
            |(format, skip, output_header, blank_lines, limit, skip_lines, max_record_size)| What {
                format,
                skip,
                output_header,
                blank_lines,
                limit,
                skip_lines,
                max_record_size,
            },
        )
        .boxed()
}

/// A CSV dialect: delimiter, quote, doubling.
pub type Dialect = (u8, Option<u8>, bool);

pub fn dialect() -> BoxedStrategy<Dialect> {
    (
        mostly(b',', select(vec![b';', b'\t', 0, b'a', b' '])),
        mostly(Some(b'"'), select(vec![None, Some(b'\''), Some(b'b')])),
        mostly(true, Just(false)),
    )
        .boxed()
}

pub fn csv(dialect: Dialect) -> Format {
    Format::csv()
        .delimiter(dialect.0)
        .quote(dialect.1)
        .doubling(dialect.2)
}

pub fn format() -> BoxedStrategy<Format> {
    prop_oneof![
        Just(Format::lines()),
        Just(Format::nul()),
        Just(Format::ndjson()),
        (dialect(), any::<bool>()).prop_map(|(dialect, header)| csv(dialect).header(header)),
        (dialect(), any::<bool>()).prop_map(|(dialect, header)| csv(dialect).header(header)),
    ]
    .boxed()
}

/// Bytes with many quotes, delimiters and ends, at times behind a byte order mark.
pub fn bytes(most: usize) -> BoxedStrategy<Vec<u8>> {
    let special = select(b"\"\"\"',,;\r\n\n\0\t aab".to_vec());
    let piece = prop_oneof![
        8 => special.prop_map(|byte| vec![byte]),
        3 => select(vec![&b"\r\n"[..], b"\n", b"\",\"", b"\"\"", b"\n\"", b"\"\n", b"\xEF\xBB\xBF", b"{}\n"])
            .prop_map(<[u8]>::to_vec),
        2 => (select(b"axz 0".to_vec()), 1..30usize).prop_map(|(byte, n)| vec![byte; n]),
        1 => select(vec!["é", "日本", "🦀"]).prop_map(|text| text.as_bytes().to_vec()),
        1 => any::<u8>().prop_map(|byte| vec![byte]),
    ];
    let mark = mostly(&b""[..], select(vec![&b"\xEF\xBB\xBF"[..], b"\xEF\xBB"]));
    (mark, vec(piece, 0..most))
        .prop_map(|(mark, pieces)| [mark.to_vec(), pieces.concat()].concat())
        .boxed()
}

/// Bytes that are shown as text.
#[derive(Clone, PartialEq)]
pub struct Text(pub Vec<u8>);

impl std::fmt::Debug for Text {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "b\"{}\"", self.0.escape_ascii())
    }
}

/// An input, at times a long one.
pub fn input() -> BoxedStrategy<Text> {
    (bytes(120), mostly(1, 2..200usize))
        .prop_map(|(bytes, times)| Text(bytes.repeat(times)))
        .boxed()
}

/// One input mostly, at times several.
pub fn inputs() -> BoxedStrategy<Vec<Text>> {
    let several = || vec(bytes(30), 2..4);
    let texts = |inputs: Vec<Vec<u8>>| inputs.into_iter().map(Text).collect();
    prop_oneof![
        3 => input().prop_map(|input| vec![input]),
        1 => several().prop_map(texts),
        // The same header in all of them.
        1 => (bytes(5), several()).prop_map(move |(top, inputs)| {
            let with_top = |input: Vec<u8>| [&top, &b"\n"[..], &input].concat();
            texts(inputs.into_iter().map(with_top).collect())
        }),
    ]
    .boxed()
}

/// The inputs as files, and a place for what is made of them.
pub struct Files {
    pub folder: TempDir,
    pub inputs: Vec<PathBuf>,
}

impl Files {
    pub fn new(inputs: &[Text]) -> Files {
        let folder = tempfile::tempdir().unwrap();
        let name = |n| folder.path().join(format!("input-{n}"));
        let paths: Vec<PathBuf> = (0..inputs.len()).map(name).collect();
        for (path, input) in paths.iter().zip(inputs) {
            std::fs::write(path, &input.0).unwrap();
        }
        Files {
            folder,
            inputs: paths,
        }
    }

    pub fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }
}
