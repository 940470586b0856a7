//! The program: what was typed (`args`), what to do (`plan`), the commands, and how they show themselves.

mod args;
mod bench;
mod cat;
mod check;
mod compression;
mod dialect;
mod escape;
#[cfg(unix)]
mod exec;
mod failures;
mod help;
mod json;
mod map;
mod names;
mod plan;
mod progress;
mod run;
mod same;
#[cfg(unix)]
mod signals;
mod stats;
mod status;
mod streams;
mod units;
mod voice;
mod whole;
mod work;

use std::io::{self, Write};

use clap::Parser;

use args::{Cli, Command};
use bench::BenchPlan;
use map::MapPlan;
use plan::{CatPlan, CheckPlan};
use status::{Status, StdoutError};
use voice::Voice;

/// Reads the command line, does what it says, and tells how that went.
pub fn main() -> Status {
    let cli = match Cli::try_parse() {
        Ok(cli) => cli,
        Err(stop) => return typed_wrong(&stop),
    };
    let mut voice = Voice::new();
    let status = match run(cli.command, &mut voice) {
        Ok(status) => status,
        Err(error) => tell(&error, &mut voice),
    };
    voice.settle();
    #[cfg(unix)]
    signals::die_of_it();
    status
}

/// Says what went wrong, unless it is that nobody wants the output any more.
fn tell(error: &anyhow::Error, voice: &mut Voice) -> Status {
    let status = Status::of(error);
    if status != Status::Done {
        voice.line(&status::message(error));
        voice.settle();
    }
    status
}

fn run(command: Command, voice: &mut Voice) -> anyhow::Result<Status> {
    match command {
        Command::Map(args) => map::map(&MapPlan::new(*args)?, voice),
        Command::Cat(args) => cat::cat(&CatPlan::new(args)?, voice),
        Command::Check(args) => check::check(&CheckPlan::new(args)?, voice),
        Command::Bench(args) => bench::bench(&BenchPlan::new(args)?, voice),
        Command::PlainLoop(args) => bench::plain_loop(args),
        #[cfg(unix)]
        Command::Exec(args) => exec::exec(exec::ExecPlan::new(args)?, voice),
        Command::Completions { shell } => help::completions(shell).map(|()| Status::Done),
        Command::Man { command } => help::man(command.as_deref()).map(|()| Status::Done),
    }
}

/// Help and version, which go to standard output, and what could not be understood.
fn typed_wrong(stop: &clap::Error) -> Status {
    if stop.use_stderr() {
        let _ = stop.print();
        #[cfg(unix)]
        if let Some(hint) = exec::hint(stop) {
            let mut voice = Voice::new();
            voice.line(&hint);
            voice.settle();
        }
        return Status::Usage;
    }
    let printed = streams::need_output().and_then(|()| {
        stop.print()
            .and_then(|()| io::stdout().flush())
            .map_err(|error| StdoutError(error).into())
    });
    printed.map_or_else(|error| tell(&error, &mut Voice::new()), |()| Status::Done)
}
