//! The examples of `--help`, which run on the sample data, and the pages made from the definition of the options.

use clap::CommandFactory;
use clap_complete::Shell;

use super::args::Cli;
use super::status::usage;
use super::streams;

pub const PROGRAM: &str = "\
Examples:
  inorder map 'select((.dep_delay | numbers) > 60)' data/flights-sample.csv -o late.csv
  inorder cat --work fib:20 data/flights-sample.csv -o out.csv
  inorder exec data/flights-sample.csv --header keep -- grep -v ,UA,
  inorder check data/flights-sample.csv

Status:
  0  done; also when the reader of standard output went away
  1  failed: no output file was made or changed
  2  what was typed can't be done
  3  done, but records were left out or set aside, or check found faults
  4  refused: what an earlier run left does not fit, or another run writes this output
  126, 127  the command of exec can't be run, is not there
A signal ends it with 128 and the signal's number, as a shell counts. With --resume, 1 and signals are worth running again:
  until inorder cat in.csv -o out.csv --resume; do s=$?; [ $s = 1 ] || [ $s -gt 128 ] || break; sleep 10; done
and for systemd: Restart=on-failure, RestartPreventExitStatus=2 3 4

SIGUSR1 prints a line of progress and one for each worker.";

pub const CAT: &str = "\
Examples:
  Every row goes over all cores and the output is the input, byte for byte:
    inorder cat --work fib:1..18 data/flights-sample.csv -o out.csv
    cmp data/flights-sample.csv out.csv

  Two files with the same header as one, with one header:
    inorder cat data/flights-sample.csv data/flights-sample.csv -o both.csv

  The first 100 rows of a stream, without the header:
    inorder cat --from csv --limit 100 --no-output-header < data/flights-sample.csv

  Work that waits goes on more threads than there are cores:
    inorder cat --work sleep:10ms -j 64 --limit 640 data/flights-sample.csv -o out.csv

  One record in a hundred fails and is left out (status 3):
    inorder cat --work fail:1% --on-error skip data/flights-sample.csv -o out.csv

  Or is set aside, to be mended and run again; what is wrong stands in bad.csv.errors.ndjson (status 3):
    inorder cat --work fail:1% data/flights-sample.csv -o out.csv --rejects bad.csv

  Killed at any moment, the same command goes on where it was:
    inorder cat --work fib:1..18 data/flights-sample.csv -o out.csv --resume

  One attempt in ten fails and is tried again:
    inorder cat --work fail:10% --retries 9 --retry-delay 1ms data/flights-sample.csv -o out.csv";

pub const MAP: &str = "\
Examples:
  Flights that left more than an hour late, NA left aside; the rows keep their bytes:
    inorder map 'select((.dep_delay | numbers) > 60)' data/flights-sample.csv -o late.csv

  Other columns, named by the objects that the filter makes:
    inorder map '{flight, gain: (.dep_delay - .arr_delay)?}' data/flights-sample.csv -o gain.csv

  CSV as NDJSON, and back:
    inorder map . data/flights-sample.csv -o flights.ndjson
    inorder map . flights.ndjson -o flights.csv

  Lines of text from NDJSON, as jq -r writes them:
    inorder map -r '\"\\(.time) \\(.flight)\"' data/events.ndjson

  A filter with a variable; records that fail are left out (status 3):
    inorder map --arg to ORD --on-error skip -r -f data/delay.jq data/flights-sample.csv

  A text as NDJSON:
    inorder map --from lines --to ndjson '{words: (split(\" \") | length)}' data/README.md

jq is that of jaq, on one record at a time: input, inputs, -n and -s are refused. A value over
several lines is brought into one by `jq -c .`. In CSV strings are written as they are, null as
nothing, other values as JSON. Where input and output formats differ, CRLF stays, and any other
end becomes that of the output's format.";

#[cfg(unix)]
pub const EXEC: &str = "\
The command gets a chunk of whole records on standard input, and what it prints is that chunk's result; the results are
joined in input order. What it says on standard error comes through in whole lines. Its status decides whether it failed,
not whether it read all of its input; nothing of a failed attempt is in the output. A process that it leaves behind and that
holds its output open is killed 2 s after the last output, or 10 s after the command's end. What leaves the command's process
group, by setsid, is not found and lives on; and so does, if inorder itself is killed by KILL, a command that does not mind
losing its input and output.

Examples:
  Rows that a pattern does not match; the header is kept:
    inorder exec data/flights-sample.csv --header keep -- grep -v ,UA,

  grep says 1 where it finds nothing, which is no failure:
    inorder exec data/flights-sample.csv --header keep --ok-status 0,1 -- grep ,UA,

  A pipeline, by the shell:
    inorder exec data/flights-sample.csv --header none --shell 'grep ,UA, | cut -d, -f10,14; true'

  A program that needs the header, such as a script for CSV, sees it before each chunk:
    inorder exec data/flights-sample.csv -- awk -F, -v OFS=, '{ print $10, $14 }'

  Ten records at a time, 500 a second at most, on 64 workers because the command waits:
    inorder exec -N 10 -j 64 --rate 500/s data/flights-sample.csv --header keep -- sh -c 'sleep 0.01; cat'

The header (CSV, TSV), --header:
  both  the command sees it before each chunk and prints it each time. Before the first chunk it is run once on the header
        alone; what it prints then is the output's header, and each result must begin with exactly these bytes. (Lines
        that --skip-lines leaves out are not passed on.)
  keep  the command never sees it, and the output gets the input's, with what stands before it: grep, sed, tr
  in    the command sees it and prints none, and the output gets none: counts, reports
  none  the command never sees it, and the output gets none
  Miller before version 6.11 prints no header where there are no rows: --header in -- mlr --csv --headerless-csv-output ...

Chunks: a 64th of a regular file, at least 64 KiB and at most 8 MiB; 1 MiB of a stream. --chunk-size sets it, -N the
records (up to 16 MiB a chunk). They are filled however slowly the input comes: for a live stream use -N 1 or --persistent.

What remembers earlier records can't be cut: grep -C, -n, -m, uniq, sort, nl, head, wc. Pipe the ordered output into
these: inorder exec data/README.md -- tr a-z A-Z | sort. --verify tries whether a command can be cut: it compares what it makes of
the start of the input as a whole, in 64 chunks, and of the first 32 records one by one.

With --persistent a worker starts the command once and keeps it (--recycle N: for N records). It gets records as they stand,
several ahead, and has to answer each with one record of the format --to, at once: python3 -u, jq --unbuffered, sed -u,
grep --line-buffered, mlr --records-per-batch 1, fflush() in awk, $| = 1 in perl, else stdbuf -oL. With --header both it
is sent the header first and answers with its header; with in it answers nothing to it. It must print nothing else, not even
a line at its end: the answers before one too many may be those of other records, and so it fails the run. What
such a run left for --resume is refused. When a process dies, another gets the records that it has not answered, and no
others; a record of which a process dies again, alone, has failed. Five such records without one answer between them end
the run.
  inorder exec --persistent data/flights-sample.csv -- sed -u s/,UA,/,United,/

Environment: INORDER_CHUNK (from 0), INORDER_RECORD (number of the first record in its input, 0 is the header),
INORDER_INPUT (its name), INORDER_WORKER (from 0: no two commands at the same time have the same), INORDER_ATTEMPT (from 1).
With --persistent only the last two.

Status: 126 the command can't be run, 127 it is not there; else as `inorder --help` says.";

pub const CHECK: &str = "\
Examples:
  inorder check data/flights-sample.csv
  inorder check --json data/quoted.csv
  inorder check --from csv --no-header --faults 3 - < data/flights-sample.csv
  inorder check data/events.ndjson";

pub const BENCH: &str = "\
Examples:
  inorder bench data/flights-sample.csv --work fib:15
  inorder bench data/flights-sample.csv --work fib:1..20 --threads 1,2,4 --runs 3 --plot speedup.svg
  inorder bench data/flights-sample.csv --work sleep:100us --threads 16,64 --runs 1 --json";

pub const COMPLETIONS: &str = "\
Examples:
  inorder completions bash > inorder.bash
  inorder completions zsh > _inorder";

pub const MAN: &str = "\
Examples:
  inorder man > inorder.1
  inorder man cat > inorder-cat.1";

/// Prints the completion script.
pub fn completions(shell: Shell) -> anyhow::Result<()> {
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "inorder", &mut script);
    streams::print(&script)
}

/// Prints the manual page of the program or of one of its commands.
pub fn man(command: Option<&str>) -> anyhow::Result<()> {
    let mut program = Cli::command();
    // Gives the commands their full names, such as `inorder-cat`.
    program.build();
    let subject = match command {
        None => program,
        Some(name) => {
            let found = program.find_subcommand(name);
            found
                .ok_or_else(|| usage(format!("there is no command {name:?}")))?
                .clone()
        }
    };
    let mut page = Vec::new();
    clap_mangen::Man::new(subject).render(&mut page)?;
    streams::print(&page)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_command_has_examples() {
        let program = Cli::command();
        let commands = program.get_subcommands();
        for command in commands.filter(|command| !command.is_hide_set()) {
            let help = command.get_after_long_help().map(ToString::to_string);
            assert!(
                help.is_some_and(|help| help.contains("Examples:\n")),
                "{}",
                command.get_name()
            );
        }
    }
}
