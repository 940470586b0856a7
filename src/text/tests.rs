use encoding_rs::Encoding as Table;

use super::*;

fn encoded(label: &str, pieces: &[&[u8]]) -> Result<Vec<u8>, String> {
    let mut transcoder = Transcoder::new(Encoding::for_label(label).unwrap());
    let mut out = Vec::new();
    for piece in pieces {
        transcoder.push(piece, &mut out);
    }
    let settled = transcoder.settle(&mut out);
    settled.map_err(|error| error.to_string()).map(|()| out)
}

#[test]
fn text_comes_back_from_every_encoding_whatever_the_pieces() {
    let text = "a,\"é\n\"\r\nüß";
    let asian = "日本,語\n";
    for (label, text) in [
        ("utf-8", text),
        ("utf-16le", "a😀\u{2028}\n"),
        ("utf-16be", "a😀\u{0A0A}\n"),
        ("windows-1252", text),
        ("shift_jis", asian),
        ("iso-2022-jp", asian),
        ("gb18030", "😀日\n"),
        ("euc-kr", "한\n"),
    ] {
        let pieces: Vec<&[u8]> = text.as_bytes().chunks(1).collect();
        let one = encoded(label, &pieces).unwrap();
        assert_eq!(one, encoded(label, &[text.as_bytes()]).unwrap());
        let table = Table::for_label(label.as_bytes()).unwrap();
        let (decoded, failed) = table.decode_without_bom_handling(&one);
        assert!(!failed && decoded == text, "{label}: {decoded}");
    }
}

#[test]
fn a_character_that_is_not_there_and_broken_utf8_are_told() {
    assert_eq!(
        encoded("windows-1252", &["a€ Ω".as_bytes()]).unwrap_err(),
        "the output's encoding, windows-1252, has no U+03A9"
    );
    for bytes in [&b"a\xFF"[..], b"a\xC3", b"\xC3a"] {
        for label in ["utf-8", "utf-16le", "windows-1252"] {
            assert!(encoded(label, &[bytes]).unwrap_err().contains("not UTF-8"));
        }
    }
}

#[test]
fn a_record_that_failed_leaves_nothing_behind() {
    let mut transcoder = Transcoder::new(Encoding::for_label("iso-2022-jp").unwrap());
    let mut out = Vec::new();
    transcoder.push("日\u{E9}".as_bytes(), &mut out);
    assert!(transcoder.settle(&mut out).is_err());
    transcoder.reset();
    out.clear();
    transcoder.push("日".as_bytes(), &mut out);
    transcoder.settle(&mut out).unwrap();
    assert_eq!(out, b"\x1B$BF|\x1B(B");
}
