//! Inputs and outputs in other encodings than UTF-8: the cases of group c.

use super::compressed::packed;
use super::testenv::TestEnv;

fn utf16(text: &str, big: bool) -> Vec<u8> {
    let bytes = |unit: u16| {
        if big {
            unit.to_be_bytes()
        } else {
            unit.to_le_bytes()
        }
    };
    text.encode_utf16().flat_map(bytes).collect()
}

/// Characters whose bytes in UTF-16 are line ends, quotes and commas; a quoted line break.
const TABLE: &str = "id,\u{20AC}\r\n1,\u{0D0A}\u{0A0A}\r\n2,\u{222C}\u{2C2C}\u{010A}\r\n3,\u{0A41}\u{0100}\r\n4,\"a\r\n\u{1F600}\"\r\n";

const OPTIONS: [&str; 6] = [
    "",
    "-j 4 -N 1",
    "--chunk-size 1 -j 4",
    "--chunk-size 64 -j 4",
    "--sequential --no-mmap",
    "--memory 1k",
];

#[test]
fn utf16_is_decoded_before_it_is_cut() {
    let env = TestEnv::new();
    for (name, big) in [("utf-16le", false), ("utf-16be", true)] {
        let plain = utf16(TABLE, big);
        let marked = [utf16("\u{FEFF}", big), plain.clone()].concat();
        env.write("plain.csv", &plain);
        env.write("marked.csv", &marked);
        env.write("marked.csv.gz", packed("gz", &marked));
        for options in OPTIONS {
            for input in [
                "plain.csv",
                "marked.csv",
                "marked.csv.gz",
                "--from csv < marked.csv",
            ] {
                let options = format!("--encoding {name} {options} {input}");
                env.run(&format!("inorder cat --output-encoding utf-8 {options}"))
                    .quiet()
                    .out(TABLE);
                // As it was, with the mark if it had one.
                let wanted = if input == "plain.csv" {
                    &plain
                } else {
                    &marked
                };
                env.run(&format!("inorder cat {options}"))
                    .quiet()
                    .out(wanted);
            }
        }
        env.run(&format!("inorder check --encoding {name} marked.csv"))
            .quiet()
            .has("csv, 4 records of 2 fields, 6 lines, ");
        // The first input's mark, not the others'.
        env.run(&format!(
            "inorder cat --encoding {name} marked.csv marked.csv | wc -c"
        ))
        .quiet()
        .out(format!(
            "{}\n",
            2 * marked.len() - utf16("\u{FEFF}id,\u{20AC}\r\n", big).len()
        ));
    }
}

#[test]
fn one_encoding_becomes_another_and_comes_back() {
    let env = TestEnv::new();
    let text = "name,x\n\"na\u{EF}ve\n\u{FF}\",\u{20AC}\n";
    let latin = b"name,x\n\"na\xEFve\n\xFF\",\x80\n";
    env.write("in.csv", latin);
    for options in OPTIONS {
        env.run(&format!(
            "inorder cat {options} --encoding windows-1252 --output-encoding utf-8 in.csv"
        ))
        .quiet()
        .out(text);
        env.run(&format!(
            "inorder cat {options} --encoding windows-1252 in.csv"
        ))
        .quiet()
        .out(latin);
        env.run(&format!(
            "inorder cat {options} --encoding windows-1252 --output-encoding utf-16be in.csv -o out.csv.zst &&
             inorder cat {options} --encoding utf-16be --output-encoding latin1 out.csv.zst | cmp in.csv -"
        ))
        .quiet();
    }
}

#[test]
fn only_a_line_feed_ends_a_line_in_every_encoding() {
    let env = TestEnv::new();
    let text = "a\u{2028}b\nc\u{2029}d\ne\u{85}f\n";
    env.write("in", text);
    env.run("inorder cat --output-encoding utf-16le in -o wide && inorder check --encoding utf-16le wide")
        .quiet()
        .has("lines, 3 records, 3 lines");
    env.run("inorder cat --encoding utf-16le --output-encoding utf-8 wide | cmp in -")
        .quiet();
}

#[test]
fn bytes_without_a_meaning_are_a_failing_record_with_their_place() {
    let env = TestEnv::new();
    env.write("in.csv", b"a,b\n1,x\n2,\xFF\xFE\n\n3,\xC3\xA9\n4,\xC3");
    for options in OPTIONS {
        let options = format!("--encoding utf-8 {options} in.csv");
        env.run(&format!("inorder cat {options}"))
            .status(1)
            .out("a,b\n1,x\n")
            .err_has("in.csv: wrongly encoded, record 2 (line 3, byte 8): FF at byte 10 of the source is not UTF-8");
        env.run(&format!("inorder cat --on-error skip {options}"))
            .status(3)
            .out("a,b\n1,x\n\n3,\u{E9}\n")
            .err_has(
                "skipped, record 4 (line 6, byte 23): C3 at byte 21 of the source is not UTF-8",
            );
    }
    env.run("inorder check --encoding utf-8 in.csv")
        .status(3)
        .has("2 faults");
    env.run("inorder check --encoding utf-8 --from lines in.csv")
        .status(3)
        .has("2 faults");
    // An odd byte at the end of UTF-16.
    let mut odd = utf16("ab\ncd\n", false);
    odd.push(b'x');
    env.write("odd", &odd);
    let ran = env.run("inorder cat --encoding utf-16le --output-encoding utf-8 odd");
    ran.status(1)
        .out("ab\ncd\n")
        .err_has("record 3 (line 3, byte 6): 78 at byte 12 of the source");
    env.write("head.csv", b"a,\xFF\n1,2\n");
    env.run("inorder cat --encoding utf-8 head.csv")
        .status(1)
        .err_has("head.csv: wrongly encoded before the first record: FF at byte 2 of the source");
    // Without the option bytes are bytes.
    env.run("inorder cat in.csv | cmp in.csv -").quiet();
}

#[test]
fn a_character_that_the_output_lacks_is_a_failing_record() {
    let env = TestEnv::new();
    env.write("in", "one\ntw\u{3A9}o\n\u{20AC}\n");
    for options in OPTIONS {
        let options = format!("--output-encoding windows-1252 {options} in");
        env.run(&format!("inorder cat {options}"))
            .status(1)
            .out("one\n")
            .err_has("in: wrongly encoded, record 2 (line 2, byte 4): the output's encoding, windows-1252, has no U+03A9");
        env.run(&format!("inorder cat --on-error skip {options}"))
            .status(3)
            .out(b"one\n\x80\n");
    }
    env.write("in.csv", "\u{3A9}\n1\n");
    env.run("inorder cat --output-encoding latin1 in.csv")
        .status(1)
        .err_has("in.csv: the header failed: the output's encoding, windows-1252, has no U+03A9");
    env.write("bytes", b"a\n\xFF\n");
    env.run("inorder cat --output-encoding utf-16le bytes")
        .status(1)
        .out(utf16("a\n", false))
        .err_has("record 2 (line 2, byte 2): not UTF-8");
}

#[test]
fn rejects_are_the_bytes_of_the_source() {
    let env = TestEnv::new();
    let rows = |middle: &[u8]| {
        [
            &utf16("a,b\n1,x\n", false)[..],
            middle,
            &utf16("3,z\n", false),
        ]
        .concat()
    };
    // A surrogate alone.
    let bad = [&utf16("2,", false)[..], b"\x00\xDC", &utf16("\n", false)].concat();
    env.write("in.csv", rows(&bad));
    for options in OPTIONS {
        env.run(&format!(
            "inorder cat {options} --encoding utf-16le --rejects bad.csv in.csv -o out.csv"
        ))
        .status(3);
        assert_eq!(env.read("out.csv"), rows(b""));
        let rejects = [utf16("a,b\n", false), bad.clone()].concat();
        assert_eq!(env.read("bad.csv"), rejects);
        let row = String::from_utf8(env.read("bad.csv.errors.ndjson")).unwrap();
        assert!(
            row.contains("\"kind\":\"encoding\"") && row.contains("00 DC at byte 20"),
            "{row}"
        );
    }
}

#[test]
fn case_28_the_mark_of_the_other_byte_order_is_an_error() {
    let env = TestEnv::new();
    for (bytes, label, mark, named) in [
        (&b"\xFE\xFF\0a\0\n"[..], "utf-16", "UTF-16BE", "UTF-16LE"),
        (b"\xFE\xFF\0a\0\n", "utf-16le", "UTF-16BE", "UTF-16LE"),
        (b"\xFF\xFEa\0\n\0", "utf-16be", "UTF-16LE", "UTF-16BE"),
    ] {
        env.write("in", bytes);
        let said = format!("the text begins with the byte order mark of {mark}, not of {named}");
        for command in [
            format!("cat --encoding {label} --output-encoding utf-8 in"),
            format!("check --encoding {label} in"),
            format!("cat --encoding {label} -j 1 < in"),
        ] {
            let ran = env.run(&format!("inorder {command}"));
            ran.status(1).err_has(&said);
            assert_eq!(ran.out, "");
        }
    }
}
