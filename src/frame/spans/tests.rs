use super::*;

fn contents(bytes: &[u8], framing: Framing) -> Vec<(&[u8], &[u8])> {
    Spans::new(bytes, framing)
        .map(|s| (&bytes[s.start..s.content_end], &bytes[s.content_end..s.end]))
        .collect()
}

#[test]
fn a_line_has_its_end_of_one_or_two_bytes() {
    let found = contents(b"a\r\n\n\r\nb\rc", Framing::Lines);
    assert_eq!(
        found,
        [
            (&b"a"[..], &b"\r\n"[..]),
            (b"", b"\n"),
            (b"", b"\r\n"),
            (b"b\rc", b"")
        ]
    );
    assert_eq!(contents(b"a\r", Framing::Lines), [(&b"a\r"[..], &b""[..])]);
    assert_eq!(
        contents(b"a\n\0\0b", Framing::Nul),
        [(&b"a\n"[..], &b"\0"[..]), (b"", b"\0"), (b"b", b"")]
    );
}

#[test]
fn blank_lines_are_gaps() {
    let found = contents(b" \t\n{}\r\n\r\n 1\n \r", Framing::Ndjson);
    assert_eq!(found, [(&b"{}"[..], &b"\r\n"[..]), (b" 1", b"\n")]);
    let csv = Framing::Csv(Dialect {
        delimiter: b',',
        quote: Some(b'"'),
        doubling: true,
    });
    let found = contents(b"\r\n\na\r\rb,\"\n\"\r\n\n", csv);
    assert_eq!(found, [(&b"a"[..], &b"\r"[..]), (b"b,\"\n\"", b"\r\n")]);
}
