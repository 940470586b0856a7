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
  inorder check data/flights-sample.csv

Status:
  0  done; also when the reader of standard output went away
  1  failed: no output file was made or changed
  2  what was typed can't be done
  3  done, but records were left out or set aside, or check found faults

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
