//! The commands that are crashed, all with about one failing record in a hundred.

use std::process::Command;

/// A command line.
pub struct Mode {
    pub name: &'static str,
    command: &'static str,
    options: &'static [&'static str],
    pub name_of_input: &'static str,
    /// What stands behind the input's name.
    end: &'static [&'static str],
    pub input: fn(usize) -> Vec<u8>,
}

const WORK: &str = "sleep:20us,fail:1%";

const MODES: [Mode; 5] = [
    Mode {
        name: "lines",
        command: "cat",
        options: &["--work", WORK],
        name_of_input: "in.txt",
        end: &[],
        input: lines,
    },
    Mode {
        name: "CSV with quoted newlines",
        command: "cat",
        options: &["--work", WORK],
        name_of_input: "in.csv",
        end: &[],
        input: csv,
    },
    Mode {
        name: "lines to zstd",
        command: "cat",
        options: &["--work", WORK, "--compress", "zstd"],
        name_of_input: "in.txt",
        end: &[],
        input: long_lines,
    },
    Mode {
        name: "map to CSV",
        command: "map",
        options: &[
            "--to",
            "csv",
            "if .id % 100 == 7 then error(\"no\") else {id, twice: (.id * 2), text} end",
        ],
        name_of_input: "in.csv",
        end: &[],
        input: csv,
    },
    Mode {
        name: "exec",
        command: "exec",
        options: &["--chunk-size", "4k"],
        name_of_input: "in.txt",
        end: &["--", "awk", "/77$/ { exit 3 } { print; print }"],
        input: lines,
    },
];

impl Mode {
    /// The words behind the program's name.
    pub fn words<'w>(&'w self, options: &[&'w str]) -> Vec<&'w str> {
        [
            &[self.command],
            self.options,
            &[
                self.name_of_input,
                "-o",
                "out",
                "--rejects",
                "bad",
                "--progress",
                "never",
            ],
            options,
            self.end,
        ]
        .concat()
    }
}

/// Those whose commands this program has.
pub fn modes() -> Vec<&'static Mode> {
    let has = |mode: &&Mode| {
        let help = Command::new(env!("CARGO_BIN_EXE_inorder"))
            .args([mode.command, "--help"])
            .output()
            .expect("the program can be started");
        if !help.status.success() {
            crate::bench::skipped(mode.name, "the program has no such command");
        }
        help.status.success()
    };
    MODES.iter().filter(has).collect()
}

/// The first two, which all programs have.
pub fn simple_modes() -> &'static [Mode] {
    &MODES[..2]
}

fn lines(records: usize) -> Vec<u8> {
    let lines = (0..records).map(|n| format!("{n} {}\n", "text ".repeat(n % 13)));
    lines.collect::<String>().into_bytes()
}

/// Many blocks of a compressed output.
fn long_lines(records: usize) -> Vec<u8> {
    let lines = (0..records).map(|n| format!("{n} {}\n", "text ".repeat(n % 797)));
    lines.collect::<String>().into_bytes()
}

fn csv(records: usize) -> Vec<u8> {
    let row = |n: usize| match n % 5 {
        0 => format!("{n},\"two\nlines, and a \"\"quote\"\"\"\r\n"),
        1 => format!("\n{n},\"a\n\n\nb\"\n"),
        _ => format!("{n},{}\n", "text ".repeat(n % 11)),
    };
    let rows = (0..records).map(row).collect::<String>();
    format!("id,text\n{rows}").into_bytes()
}
