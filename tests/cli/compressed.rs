//! Compressed inputs: rows A13 to A16, the cases of group d.

use std::io::{Read, Write};
use std::process::Stdio;
use std::time::{Duration, Instant};

use super::testenv::{TestEnv, finish, numbers};

/// The suffixes of the formats that are read.
pub const SUFFIXES: [&str; 4] = ["gz", "zst", "bz2", "xz"];

/// One member, frame or stream of that format.
pub fn packed(suffix: &str, bytes: impl AsRef<[u8]>) -> Vec<u8> {
    let bytes = bytes.as_ref();
    let packed = match suffix {
        "gz" => {
            let mut writer = flate2::write::GzEncoder::new(Vec::new(), Default::default());
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        "zst" => {
            let mut writer = zstd::stream::write::Encoder::new(Vec::new(), 3).unwrap();
            writer.include_checksum(true).unwrap();
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        "bz2" => {
            let mut writer = bzip2::write::BzEncoder::new(Vec::new(), Default::default());
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
        _ => {
            let mut writer = liblzma::write::XzEncoder::new(Vec::new(), 6);
            writer.write_all(bytes).and_then(|()| writer.finish())
        }
    };
    packed.unwrap()
}

const TABLE: &str = "id,name\n1,Ada\n2,\"Alan\nTuring\"\n3,Grace\n4,Edsger\n";

/// The table in members that border in the middle of a record, empty ones between them.
fn members(suffix: &str) -> Vec<u8> {
    let (start, end) = TABLE.split_at(20);
    [start, "", end, "", ""]
        .map(|part| packed(suffix, part))
        .concat()
}

#[test]
fn a14_all_members_frames_and_streams_are_one_input() {
    let env = TestEnv::new();
    for suffix in SUFFIXES {
        let file = format!("in.csv.{suffix}");
        env.write(&file, members(suffix));
        for options in [
            "",
            "--no-mmap",
            "--sequential",
            "-N 1 -j 4",
            "--chunk-size 1",
        ] {
            for script in [
                format!("inorder cat {options} {file}"),
                format!("inorder cat {options} --from csv < {file}"),
                format!("cat {file} | inorder cat {options} --from csv"),
                format!("inorder cat {options} --from csv <(cat {file})"),
            ] {
                env.run(&script).quiet().out(TABLE);
            }
        }
        env.run(&format!("inorder check {file}"))
            .quiet()
            .has(": csv, 4 records of 2 fields, 6 lines, 47 bytes: no faults\n");
        // Messages count the unpacked bytes.
        env.run(&format!("inorder cat --work fail:100% {file}"))
            .status(1)
            .err_has(&format!("{file}: failed, record 1 (line 2, byte 8): "));
    }
}

#[test]
fn a14_bgzf_is_gzip() {
    let env = TestEnv::new();
    // The member that ends such files, as the format's description has it.
    let end = b"\x1f\x8b\x08\x04\0\0\0\0\0\xff\x06\0BC\x02\0\x1b\0\x03\0\0\0\0\0\0\0\0\0";
    env.write("in.gz", [packed("gz", "a\nb\n"), end.to_vec()].concat());
    env.run("inorder cat in.gz").quiet().out("a\nb\n");
}

#[test]
fn several_compressed_inputs_are_one_sequence() {
    let env = TestEnv::new();
    for suffix in SUFFIXES {
        env.write(
            format!("{suffix}.csv.{suffix}"),
            packed(suffix, format!("a,b\n{suffix},1")),
        );
    }
    env.write("plain.csv", "\"a\",b\nplain,2\n");
    env.run("inorder cat gz.csv.gz zst.csv.zst plain.csv bz2.csv.bz2 xz.csv.xz")
        .quiet()
        .out("a,b\ngz,1\nzst,1\nplain,2\nbz2,1\nxz,1");
    env.write("other.csv.gz", packed("gz", "a,c\n1,2\n"));
    env.old_output();
    let ran = env.run("inorder cat gz.csv.gz xz.csv.xz other.csv.gz -o o/out");
    ran.status(1)
        .err_has("inorder: other.csv.gz: the header differs from that of gz.csv.gz");
    env.is_untouched(&ran);
}

#[test]
fn twenty_parts_are_their_text_one_after_another() {
    let env = TestEnv::new();
    let text = numbers(400_000);
    let mut names = String::new();
    for (part, lines) in text.as_bytes().chunks(text.len() / 19).enumerate() {
        let suffix = SUFFIXES[part % 2];
        let name = format!("part-{part:02}.{suffix}");
        env.write(&name, packed(suffix, lines));
        names.push_str(&name);
        names.push(' ');
    }
    env.write("plain", "plain\n");
    let whole = format!("{text}plain\n");
    for options in [
        "",
        "-j 8 --memory 64MiB",
        "-j 2 --memory 2MiB",
        "--sequential",
        "-j 4 --encoding utf-8",
    ] {
        let lines = |output: &str| {
            // Parts end in the middle of lines, and get an end there.
            output.replace('\n', "").len()
        };
        let ran = env.run(&format!("inorder cat -q {options} {names} plain"));
        ran.quiet();
        assert_eq!(lines(&ran.out), lines(&whole), "{options}");
        let first = env.run(&format!(
            "inorder cat -q {options} {names} plain | head -n 1"
        ));
        first.quiet().out("1\n");
        env.run(&format!("inorder cat -q {options} --limit 5 {names}"))
            .quiet()
            .out("1\n2\n3\n4\n5\n");
    }
    // A damaged part ends the run after all that comes before it.
    let damaged = packed("gz", numbers(1000));
    env.write("damaged.gz", &damaged[..damaged.len() - 4]);
    let ran = env.run("inorder cat part-00.gz part-02.gz damaged.gz part-04.gz");
    ran.status(1)
        .err_has("damaged.gz: cannot be read at byte 3893: compressed input ends early");
}

/// Whatever byte is lost or wrong, never is the status 0 with other records.
#[test]
fn a13_every_cut_and_every_flipped_byte_is_an_error_and_nothing_is_published() {
    let env = TestEnv::new();
    env.old_output();
    for suffix in SUFFIXES {
        let (file, whole) = (format!("in.csv.{suffix}"), packed(suffix, TABLE));
        for at in 0..whole.len() {
            let mut flipped = whole.clone();
            flipped[at] ^= 0xFF;
            for (bytes, cut) in [(&whole[..at], true), (&flipped, false)] {
                env.write(&file, bytes);
                let mut command = env.program(["cat", &file, "-o", "o/out"]);
                let ran = finish(&format!("{suffix}, byte {at}"), &mut command);
                if ran.status == Some(0) {
                    assert!(!cut && env.read("o/out") == TABLE.as_bytes(), "{ran}");
                    env.write("o/out", "old");
                    continue;
                }
                ran.status(1).err_has(&format!("inorder: {file}: "));
                if cut {
                    ran.err_has("compressed input ends early");
                }
                env.is_untouched(&ran);
            }
        }
    }
}

#[test]
fn a13_standard_output_gets_a_beginning_of_what_was_packed() {
    let env = TestEnv::new();
    let text = numbers(100_000);
    for suffix in SUFFIXES {
        let whole = packed(suffix, &text);
        let member = packed(suffix, "1\n");
        for (bytes, said) in [
            (whole[..whole.len() / 2].to_vec(), "ends early"),
            (whole[..whole.len() - 5].to_vec(), "ends early"),
            ([&whole[..], &member[..5]].concat(), "ends early"),
        ] {
            env.write("in", bytes);
            for input in ["in", "< in", "<(cat in)"] {
                let ran = env.run(&format!("inorder cat {input}"));
                ran.status(1).err_has(said);
                assert!(text.starts_with(&ran.out), "{ran}");
            }
        }
    }
}

#[test]
fn a15_zeros_are_padding_and_garbage_is_an_error_with_its_place() {
    let env = TestEnv::new();
    let member = packed("gz", TABLE);
    let at = member.len();
    env.write("in.csv.gz", [&member[..], &[0; 1000]].concat());
    for input in ["in.csv.gz", "--from csv < in.csv.gz"] {
        for threads in [1, 4] {
            env.run(&format!("inorder cat -j {threads} {input}"))
                .quiet()
                .out(TABLE);
        }
    }
    env.write("in.csv.gz", [&member[..], b"junk\n"].concat());
    env.old_output();
    let ran = env.run("inorder cat in.csv.gz -o o/out");
    ran.status(1).err_has(&format!(
        "inorder: in.csv.gz: cannot be read at byte 47: garbage after the compressed data (gzip, at byte {at} of it)"
    ));
    env.is_untouched(&ran);
}

#[test]
fn a16_first_bytes_decide_and_a_note_says_that_the_name_is_wrong() {
    let env = TestEnv::new();
    env.write("packed.csv", packed("gz", TABLE));
    env.write("plain.csv.gz", TABLE);
    env.write("other.csv.gz", packed("zst", TABLE));
    for (file, note) in [
        (
            "packed.csv",
            "packed.csv: compressed (gzip), although its name does not say so",
        ),
        (
            "plain.csv.gz",
            "plain.csv.gz: named like gzip, but not compressed: read as it is",
        ),
        (
            "other.csv.gz",
            "other.csv.gz: named like gzip, but it is zstd",
        ),
    ] {
        env.run(&format!("inorder cat {file}"))
            .status(0)
            .out(TABLE)
            .err(&format!("inorder: {note}\n"));
        env.run(&format!("inorder cat -q {file}"))
            .quiet()
            .out(TABLE);
    }
    env.run("cat packed.csv | inorder cat --from csv")
        .quiet()
        .out(TABLE);
    env.write("empty.csv.gz", "");
    env.run("inorder cat empty.csv.gz")
        .status(1)
        .err_has("empty.csv.gz: cannot be read at byte 0: compressed input ends early (gzip");
    env.write("odd.gz", "\0\x01\n");
    env.run("inorder cat odd.gz")
        .status(1)
        .err_has("the name says gzip");
    env.run("inorder cat --decompress none odd.gz")
        .quiet()
        .out("\0\x01\n");
}

#[test]
fn compressed_bytes_are_records_where_nothing_is_to_be_unpacked() {
    let env = TestEnv::new();
    for suffix in SUFFIXES {
        let bytes = packed(suffix, TABLE);
        env.write("in", &bytes);
        env.run("inorder cat --decompress none in")
            .quiet()
            .out(&bytes);
        env.run("inorder cat --decompress none < in")
            .quiet()
            .out(&bytes);
    }
}

#[test]
fn a_decoder_takes_no_more_memory_than_it_may() {
    let env = TestEnv::new();
    env.write("in.xz", packed("xz", TABLE));
    env.run("inorder cat --decoder-memory 1MiB in.xz")
        .status(1)
        .err_has("unpacking needs more memory than the decoder may take (xz)");
    env.run("inorder cat --decoder-memory 16MiB in.xz")
        .quiet()
        .out(TABLE);
}

#[test]
fn records_of_a_live_compressed_stream_come_out_at_once() {
    let env = TestEnv::new();
    let mut child = env
        .program(["cat"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut input = flate2::write::GzEncoder::new(child.stdin.take().unwrap(), Default::default());
    let mut output = child.stdout.take().unwrap();
    for number in 0..50 {
        let line = format!("line {number}\n");
        input.write_all(line.as_bytes()).unwrap();
        input.flush().unwrap();
        let (sent, mut got) = (Instant::now(), vec![0; line.len()]);
        output.read_exact(&mut got).unwrap();
        assert_eq!(got, line.as_bytes());
        assert!(sent.elapsed() < Duration::from_secs(5));
    }
    drop(input.finish().unwrap());
    assert!(child.wait().unwrap().success());
}

#[test]
fn a_compressed_file_that_changes_is_an_error_and_one_that_grows_a_note() {
    let env = TestEnv::new();
    env.old_output();
    let text = numbers(1000);
    for suffix in SUFFIXES {
        let whole = packed(suffix, &text);
        for (change, said) in [
            ("truncate -s 100 in", "input shrank"),
            ("cp other in", "input "),
            ("cat other >> in", "in: grew from"),
        ] {
            env.write("in", &whole);
            env.write("other", packed(suffix, numbers(2000)));
            let grows = said.contains("grew");
            let ran = env.run(&format!(
                "sleep 0.02; inorder cat -j 4 -N 10 --work sleep:1ms in -o o/out & run=$!
                 until ls -l /proc/$run/fd 2> /dev/null | grep -q '/in$' || ! kill -0 $run 2> /dev/null; do sleep 0.01; done
                 sleep 0.05; {change}; wait $run"
            ));
            ran.status(if grows { 0 } else { 1 }).err_has(said);
            if grows {
                assert_eq!(env.read("o/out"), text.as_bytes());
                env.write("o/out", "old");
            }
            env.is_untouched(&ran);
        }
    }
}
