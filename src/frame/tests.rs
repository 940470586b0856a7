//! Framed chunks of decoded inputs.

use super::*;
use crate::control::StopHandle;
use crate::input::OpenOptions;
use crate::text::Encoding;

fn framed(bytes: &[u8], encoding: &str) -> Vec<Framed> {
    let options = FrameOptions {
        format: Format::lines(),
        open: OpenOptions {
            map: false,
            window: 1 << 20,
            block: 1 << 20,
            decoder: None,
            encoding: Encoding::for_label(encoding),
        },
        max_record_size: 1000,
        limit: u64::MAX,
        skip_lines: 0,
        fixed: false,
        keeps_mark: false,
        ahead: 0,
        ahead_room: 0,
        rate: None,
    };
    let control = StopHandle::default().enroll();
    let recycler = Arc::new(Recycler::new(2, 1 << 20));
    let mut framer = Framer::new(vec![Origin::Bytes(bytes)], options, recycler, control);
    framer.open_first().unwrap();
    let want = Want {
        bytes: 1,
        records: 1,
        flush: false,
    };
    std::iter::from_fn(|| framer.next(want).unwrap()).collect()
}

#[test]
fn records_with_malformed_bytes_have_their_source() {
    for (encoding, bytes) in [
        ("utf-8", &b"a\xFFb\n\xC3\xA9\xC3\n\xE2\x82z\nend"[..]),
        ("shift_jis", b"\x93\xFA\x81\n\x80\x96\x7B\n\xFD\xFF\n"),
        ("utf-16le", b"a\0\n\0\0\xDCb\0\n\0z"),
    ] {
        let chunks = framed(bytes, encoding);
        let source = chunks.iter().flat_map(|chunk| {
            let whole = 0..chunk.bytes.len();
            chunk.source(whole).into_owned()
        });
        assert_eq!(source.collect::<Vec<u8>>(), bytes, "{encoding}");
        assert!(chunks.iter().any(|chunk| !chunk.place.malformed.is_empty()));
    }
}
