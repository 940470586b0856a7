//! Tests of inputs as a whole: the same bytes on every way, waits that end, changed files.

use std::fs::{self, File};
use std::io::{self, Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::Duration;

use proptest::prelude::*;

use super::*;

mod changed;
#[cfg(unix)]
mod unix;

const MAPPED: OpenOptions = OpenOptions {
    map: true,
    window: 16 << 20,
    block: 1 << 20,
    decoder: None,
    encoding: None,
};
const READ: OpenOptions = OpenOptions {
    map: false,
    ..MAPPED
};

fn recycler() -> Arc<Recycler> {
    Arc::new(Recycler::new(4, 1 << 20))
}

fn open<'a>(origin: Origin<'a>, options: &OpenOptions) -> Input<'a> {
    Input::open(origin, options, &recycler(), &Waker::default()).unwrap()
}

fn open_path(path: &Path, options: &OpenOptions) -> Input<'static> {
    open(Origin::Path(path.into()), options)
}

/// Every byte of the input, in pieces of `piece` bytes.
fn read_all(input: &mut Input<'_>, piece: usize) -> Vec<u8> {
    let mut all = Vec::new();
    loop {
        let more = input.more(piece).unwrap();
        let n = input.front().len().min(piece);
        assert_eq!(input.offset(), all.len() as u64);
        all.extend_from_slice(&input.take(n));
        if more == More::End && input.front().is_empty() {
            return all;
        }
    }
}

/// Bytes in which no two stretches are alike.
fn sample(len: usize) -> Vec<u8> {
    let mut state = 1_u64;
    let mut byte = || {
        state = state.wrapping_mul(6364136223846793005).wrapping_add(1);
        (state >> 56) as u8
    };
    (0..len).map(|_| byte()).collect()
}

/// A reader that brings at most so many bytes at once, and is interrupted now and then.
struct Slow<'a>(&'a [u8], usize, bool);

impl Read for Slow<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.2 = !self.2;
        if self.2 {
            return Err(io::ErrorKind::Interrupted.into());
        }
        let n = buffer.len().min(self.1);
        self.0.read(&mut buffer[..n])
    }
}

/// Asks for and takes what the pattern says, and checks each step against the whole.
fn follow(input: &mut Input<'_>, whole: &[u8], pattern: &[(usize, usize)]) {
    let mut at = 0;
    let mut kept = Vec::new();
    for &(want, take) in pattern.iter().cycle() {
        let before = input.front().len();
        let more = input.more(want).unwrap();
        let front = input.front();
        assert_eq!(input.offset(), at as u64);
        assert!(front.len() >= before);
        assert!(whole[at..].starts_with(front), "at {at}");
        match more {
            More::Ready => assert!(front.len() >= want),
            More::Drained => assert!(!front.is_empty() && front.len() < want),
            More::End => assert_eq!(front, &whole[at..]),
        }
        let n = front.len().min(take);
        let bytes = input.take(n);
        assert_eq!(*bytes, whole[at..at + n]);
        kept.push((at, bytes));
        at += n;
        if more == More::End && at == whole.len() {
            break;
        }
    }
    for (at, bytes) in kept {
        assert_eq!(*bytes, whole[at..at + bytes.len()]);
    }
    assert_eq!(input.more(1).unwrap(), More::End);
    assert!(input.front().is_empty());
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn every_way_gives_the_same_bytes(
        len in 0_usize..60_000,
        window in 1_usize..20_000,
        block in 1_usize..20_000,
        once in 1_usize..30_000,
        pattern in prop::collection::vec((1_usize..15_000, 500_usize..12_000), 1..8),
    ) {
        let whole = sample(len);
        let mut file = tempfile::NamedTempFile::new().unwrap();
        file.write_all(&whole).unwrap();
        for map in [true, false] {
            let options = OpenOptions { map, window, block, decoder: None, encoding: None };
            let mut input = open_path(file.path(), &options);
            prop_assert_eq!(input.size(), (len > 0).then_some(len as u64));
            follow(&mut input, &whole, &pattern);
        }
        let options = OpenOptions { map: false, window, block, decoder: None, encoding: None };
        follow(&mut open(Origin::Bytes(&whole), &options), &whole, &pattern);
        let slow = Slow(&whole, once, false);
        follow(&mut open(Origin::Reader(Box::new(slow)), &options), &whole, &pattern);
    }
}

#[test]
fn bytes_at_hand_are_never_drained() {
    let whole = sample(300_000);
    let mut input = open(Origin::Bytes(&whole), &READ);
    assert_eq!(input.more(400_000).unwrap(), More::End);
    assert_eq!(input.front().len(), 300_000);
}

#[test]
fn a_short_read_is_told_once() {
    let whole = sample(3000);
    let mut input = open(Origin::Reader(Box::new(Slow(&whole, 1000, true))), &READ);
    assert_eq!(input.more(1500).unwrap(), More::Drained);
    assert_eq!(input.front().len(), 1000);
    assert_eq!(input.more(1500).unwrap(), More::Ready);
    assert_eq!(input.front().len(), 2000);
    input.take(1000);
    // The second read was short too, and part of it is still at hand.
    assert_eq!(input.more(1500).unwrap(), More::Drained);
    assert_eq!(input.front().len(), 1000);
    assert_eq!(input.more(1500).unwrap(), More::Ready);
    input.take(2000);
    assert_eq!(input.more(1).unwrap(), More::End);
}

#[test]
fn large_cuts_take_the_buffer_and_small_ones_are_copied() {
    let whole = sample(100_000);
    let options = OpenOptions {
        block: 10_000,
        ..READ
    };
    let mut input = open(Origin::Bytes(&whole), &options);
    input.more(10_000).unwrap();
    let address = input.front().as_ptr();
    let small = input.take(1000);
    assert_ne!(small.as_ptr(), address);
    assert_eq!(input.front().as_ptr(), address.wrapping_add(1000));
    let large = input.take(5000);
    assert_eq!(large.as_ptr(), address.wrapping_add(1000));
    assert_eq!(input.front(), &whole[6000..10_000]);
    assert!(!large.is_mapped());
}

#[test]
fn buffers_are_used_again() {
    let whole = sample(1 << 20);
    let recycler = recycler();
    let options = OpenOptions {
        block: 10_000,
        ..READ
    };
    let origin = Origin::Bytes(&whole);
    let mut input = Input::open(origin, &options, &recycler, &Waker::default()).unwrap();
    let mut addresses = std::collections::BTreeSet::new();
    while input.more(10_000).unwrap() != More::End {
        addresses.insert(input.take(9000).as_ptr().addr());
    }
    assert!(addresses.len() <= 6, "{}", addresses.len());
}

#[test]
fn errors_of_a_reader_come_with_the_offset() {
    struct Broken(usize);
    impl Read for Broken {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            if self.0 == 0 {
                return Err(io::Error::other("cable pulled"));
            }
            let n = self.0.min(buffer.len());
            self.0 -= n;
            Ok(n)
        }
    }
    let mut input = open(Origin::Reader(Box::new(Broken(5000))), &READ);
    assert_eq!(input.more(10_000).unwrap(), More::Drained);
    let error = input.more(10_000).unwrap_err();
    assert_eq!(error.to_string(), "cable pulled");
    assert_eq!(input.offset() + input.front().len() as u64, 5000);
}

#[test]
fn a_reader_that_lies_is_an_error() {
    struct Liar;
    impl Read for Liar {
        fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
            Ok(buffer.len() + 1)
        }
    }
    let mut input = open(Origin::Reader(Box::new(Liar)), &READ);
    assert!(matches!(input.more(1), Err(InputError::Io(_))));
}

#[test]
fn missing_files_and_directories_are_found_early() {
    let folder = tempfile::tempdir().unwrap();
    let origin = |path: &Path| Origin::Path(path.into());
    let kind = |path: &Path| origin(path).check().unwrap_err().kind();
    assert_eq!(kind(&folder.path().join("none")), io::ErrorKind::NotFound);
    assert_eq!(kind(folder.path()), io::ErrorKind::IsADirectory);
    let opened = Input::open(
        origin(folder.path()),
        &MAPPED,
        &recycler(),
        &Waker::default(),
    );
    assert_eq!(opened.err().unwrap().kind(), io::ErrorKind::IsADirectory);
}

#[test]
fn an_empty_file_ends_at_once() {
    let file = tempfile::NamedTempFile::new().unwrap();
    for options in [MAPPED, READ] {
        let mut input = open_path(file.path(), &options);
        assert_eq!(input.more(1).unwrap(), More::End);
        assert!(input.front().is_empty());
        assert!(input.take(0).is_empty());
        assert_eq!(input.size(), None);
    }
}

#[test]
fn sources_name_their_inputs() {
    let names = |source: Source<'_>| format!("{source:?}");
    assert_eq!(names(Source::files(["a", "-"])), r#"["a", "-"]"#);
    assert_eq!(names(Source::stdin()), r#"["<stdin>"]"#);
    assert_eq!(names(Source::reader(io::empty())), r#"["<reader>"]"#);
    assert_eq!(names(Source::bytes(b"x")), r#"["<bytes>"]"#);
    assert_eq!(Source::file("x").inputs().len(), 1);
}

#[test]
fn a_woken_waker_stops_every_way() {
    let mut file = tempfile::NamedTempFile::new().unwrap();
    file.write_all(&sample(100)).unwrap();
    for options in [MAPPED, READ] {
        let waker = Waker::default();
        let origin = Origin::Path(file.path().into());
        let mut input = Input::open(origin, &options, &recycler(), &waker).unwrap();
        waker.wake();
        assert!(waker.is_woken());
        assert!(matches!(input.more(10), Err(InputError::Stopped)));
    }
}
