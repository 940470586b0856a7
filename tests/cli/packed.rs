//! Compressed output: gzip and zstd.

use std::io::Read;

use super::compressed::packed;
use super::testenv::{TestEnv, numbers};

/// All members of a file.
fn unpacked(suffix: &str, bytes: &[u8]) -> Vec<u8> {
    let mut all = Vec::new();
    match suffix {
        "gz" => flate2::read::MultiGzDecoder::new(bytes).read_to_end(&mut all),
        _ => zstd::stream::read::Decoder::new(bytes)
            .unwrap()
            .read_to_end(&mut all),
    }
    .unwrap();
    all
}

#[test]
fn compressed_bytes_depend_on_the_output_and_the_level_alone() {
    let env = TestEnv::new();
    let text = numbers(350_000);
    env.write("in", &text);
    for suffix in ["gz", "zst"] {
        let out = format!("out.{suffix}");
        env.run(&format!("inorder cat --sequential in -o {out}"))
            .quiet();
        let wanted = env.read(&out);
        assert_eq!(unpacked(suffix, &wanted), text.as_bytes());
        let name = if suffix == "gz" { "gzip" } else { "zstd" };
        for options in [
            "-j 1",
            "-j 2 --no-mmap",
            "-j 8 --memory 1M",
            "-j 3 --chunk-size 100k",
            "-j 3 -N 10000",
            "-j 4 --chunk-size 3M",
        ] {
            env.run(&format!("inorder cat -q {options} in -o {out}"))
                .quiet();
            assert!(env.read(&out) == wanted, "{suffix} {options}");
            env.run(&format!(
                "inorder cat -q {options} --compress {name} < in > {out}"
            ))
            .quiet();
            assert!(env.read(&out) == wanted, "{suffix} {options}");
        }
        env.run(&format!("inorder cat --level 1 in -o {out}"))
            .quiet();
        assert_eq!(unpacked(suffix, &env.read(&out)), text.as_bytes());
        assert!(env.read(&out) != wanted);
    }
}

#[test]
fn the_tools_of_the_formats_accept_it() {
    let env = TestEnv::new();
    env.write("in", numbers(500_000));
    env.write("empty", "");
    for (tool, suffix) in [("gzip", "gz"), ("zstd", "zst")] {
        if !env.can(tool, &format!("command -v {tool}")) {
            continue;
        }
        for input in ["in", "empty"] {
            env.run(&format!(
                "inorder cat {input} -o out.{suffix} && {tool} -qt out.{suffix} && {tool} -dc out.{suffix} | cmp {input} -"
            ))
            .quiet();
            assert!(!env.read(format!("out.{suffix}")).is_empty());
        }
    }
}

#[test]
fn from_one_format_to_another_with_headers_and_back() {
    let env = TestEnv::new();
    let table = env.read("data/flights-sample.csv");
    env.write("in.csv.gz", packed("gz", &table));
    env.run(
        "inorder cat in.csv.gz -o a.csv.zst && inorder cat a.csv.zst -o b.csv.gz && inorder cat b.csv.gz -o c.csv",
    )
    .quiet();
    assert_eq!(env.read("c.csv"), table);
}

#[test]
fn slow_work_on_many_threads_is_not_held_up() {
    let env = TestEnv::new();
    env.write("in", numbers(100));
    let begun = std::time::Instant::now();
    env.run("inorder cat --work sleep:500ms -j 64 in -o out.zst")
        .quiet();
    assert!(begun.elapsed().as_millis() < 3000, "{:?}", begun.elapsed());
    assert_eq!(
        unpacked("zst", &env.read("out.zst")),
        numbers(100).as_bytes()
    );
}

/// What came before a failure gets out on standard output, as whole members.
#[test]
fn what_came_before_a_failure_is_written_and_a_file_is_not_published() {
    let env = TestEnv::new();
    let text = numbers(400_000);
    env.write("in", format!("{text}long{}\n", "g".repeat(2000)));
    for options in ["-j 4", "--sequential", "-j 1 --chunk-size 10k"] {
        let options = format!("{options} --max-record-size 1k in");
        let ran = env.run(&format!("inorder cat --compress gzip {options} > out.gz"));
        ran.status(1)
            .err_has("in: record longer than 1KiB, record 400001");
        assert_eq!(unpacked("gz", &env.read("out.gz")), text.as_bytes());
        env.old_output();
        let ran = env.run(&format!("inorder cat --compress gzip {options} -o o/out"));
        ran.status(1);
        env.is_untouched(&ran);
    }
}

#[test]
fn a_full_or_closed_output_ends_the_run() {
    let env = TestEnv::new();
    for options in ["-j 4", "--sequential"] {
        for compress in ["gzip", "zstd"] {
            let options = format!("{options} --compress {compress}");
            if cfg!(target_os = "linux") {
                for size in ["1", "20M"] {
                    env.run(&format!(
                        "head -c {size} /dev/zero | inorder cat --from nul {options} > /dev/full"
                    ))
                    .status(1)
                    .err_has("No space left on device");
                }
            }
            env.run(&format!(
                "set -o pipefail; timeout 20 inorder cat --from nul {options} /dev/urandom | head -c 1000 > /dev/null"
            ))
            .quiet();
        }
    }
}

#[test]
fn levels_and_names_that_can_not_be_are_refused() {
    let env = TestEnv::new();
    for (options, said) in [
        ("-o out.xz", "xz can't be written"),
        ("--level 3", "--level is for compressed output"),
        (
            "-o out.gz --level 13",
            "gzip has no level 13: it has 0 to 12",
        ),
    ] {
        env.run(&format!("inorder cat data/quoted.csv {options}"))
            .status(2)
            .err_has(said);
    }
    env.run("inorder cat data/quoted.csv --compress none -o out.gz && cmp data/quoted.csv out.gz")
        .quiet();
}
