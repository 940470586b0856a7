//! Framed chunks: of decoded inputs, and of a fixed size.

use super::*;
use crate::control::StopHandle;
use crate::input::OpenOptions;
use crate::text::Encoding;

const ONE_RECORD: Want = Want {
    bytes: 1,
    records: 1,
    flush: false,
};

fn framed(bytes: &[u8], encoding: Option<&str>, want: Want) -> Vec<Framed> {
    let options = FrameOptions {
        format: Format::lines(),
        open: OpenOptions {
            map: false,
            window: 1 << 20,
            block: 1 << 20,
            decoder: None,
            encoding: encoding.and_then(Encoding::for_label),
        },
        max_record_size: 1000,
        limit: u64::MAX,
        skip_lines: 0,
        fixed: want.records == u64::MAX,
        multiples: want.records == u64::MAX,
        keeps_mark: false,
        ahead: 0,
        ahead_room: 0,
        rate: None,
    };
    let control = StopHandle::default().enroll();
    let recycler = Arc::new(Recycler::new(2, 1 << 20));
    let mut framer = Framer::new(vec![Origin::Bytes(bytes)], options, recycler, control);
    framer.open_first().unwrap();
    std::iter::from_fn(|| framer.next(want).unwrap()).collect()
}

#[test]
fn records_with_malformed_bytes_have_their_source() {
    for (encoding, bytes) in [
        ("utf-8", &b"a\xFFb\n\xC3\xA9\xC3\n\xE2\x82z\nend"[..]),
        ("shift_jis", b"\x93\xFA\x81\n\x80\x96\x7B\n\xFD\xFF\n"),
        ("utf-16le", b"a\0\n\0\0\xDCb\0\n\0z"),
    ] {
        let chunks = framed(bytes, Some(encoding), ONE_RECORD);
        let source = chunks.iter().flat_map(|chunk| {
            let whole = 0..chunk.bytes.len();
            chunk.source(whole).into_owned()
        });
        assert_eq!(source.collect::<Vec<u8>>(), bytes, "{encoding}");
        assert!(chunks.iter().any(|chunk| !chunk.place.malformed.is_empty()));
    }
}

#[test]
fn what_one_chunk_leaves_to_the_next_adds_up_to_nothing() {
    let input: Vec<u8> = (0..3000)
        .flat_map(|i| [vec![b'x'; i * 7 % 40], vec![b'\n']].concat())
        .collect();
    let longest = 40;
    for size in [100, 1000, 4096, 10_000, input.len()] {
        let want = Want {
            bytes: size,
            records: u64::MAX,
            flush: false,
        };
        let chunks = framed(&input, None, want);
        assert_eq!(chunks.len(), input.len().div_ceil(size), "of {size}");
        let mut end = 0;
        for (i, chunk) in chunks.iter().enumerate() {
            end += chunk.bytes.len();
            let aim = input.len().min((i + 1) * size);
            assert!(
                (aim - longest..=aim).contains(&end),
                "of {size}, ends at {end}"
            );
        }
        assert_eq!(end, input.len());
    }
}
