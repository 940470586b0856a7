//! Runs the ways one after the other, round by round, and keeps their figures.

use std::env::current_exe;
use std::fmt;
use std::fs::File;
use std::hash::{DefaultHasher, Hasher};
use std::io::{Read, Seek, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tempfile::NamedTempFile;
use wait4::Wait4;

use super::plan::BenchPlan;

/// A way to do the work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Way {
    /// Read, work, write.
    Plain,
    /// `--sequential`.
    Sequential,
    Threads(usize),
}

impl Way {
    /// Cores that it can use.
    pub fn threads(self) -> usize {
        match self {
            Way::Plain | Way::Sequential => 1,
            Way::Threads(threads) => threads,
        }
    }
}

impl fmt::Display for Way {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Way::Plain => f.write_str("plain loop"),
            Way::Sequential => f.write_str("--sequential"),
            Way::Threads(threads) => write!(f, "-j {threads}"),
        }
    }
}

/// What was measured of a way.
#[derive(Debug)]
pub struct Figures {
    pub way: Way,
    /// Wall time of each counted run, as a whole process.
    pub times: Vec<Duration>,
    /// Least processor time of a counted run, user and system.
    pub cpu: Duration,
    /// Most resident memory of all runs, in bytes.
    pub peak: u64,
    pub bytes: u64,
    /// Of the output; of the first that differs from the plain loop's, if one does.
    pub hash: u64,
}

/// See the [module](self).
pub struct Runner<'p> {
    plan: &'p BenchPlan,
    program: PathBuf,
    /// Written by one run after another: a new file's first pages would cost more than the work.
    output: NamedTempFile,
    figures: Vec<Figures>,
}

impl<'p> Runner<'p> {
    pub fn new(plan: &'p BenchPlan) -> anyhow::Result<Runner<'p>> {
        let ways = [Way::Plain, Way::Sequential].into_iter();
        let ways = ways.chain(plan.threads.iter().map(|threads| Way::Threads(*threads)));
        let figures = ways.map(|way| Figures {
            way,
            times: Vec::new(),
            cpu: Duration::MAX,
            peak: 0,
            bytes: 0,
            hash: 0,
        });
        Ok(Runner {
            plan,
            program: current_exe().context("the program's own path is not known")?,
            output: NamedTempFile::new().context("a temporary file cannot be made")?,
            figures: figures.collect(),
        })
    }

    /// Runs each way once.
    pub fn round(&mut self, counted: bool) -> anyhow::Result<()> {
        for index in 0..self.figures.len() {
            let figures = self.run(self.figures[index].way)?;
            let plain = self.figures[0].hash;
            let known = &mut self.figures[index];
            known.peak = known.peak.max(figures.peak);
            if known.hash == 0 || known.hash == plain {
                (known.hash, known.bytes) = (figures.hash, figures.bytes);
            }
            if counted {
                known.times.extend(figures.times);
                known.cpu = known.cpu.min(figures.cpu);
            }
        }
        Ok(())
    }

    pub fn into_figures(self) -> Vec<Figures> {
        self.figures
    }

    fn run(&mut self, way: Way) -> anyhow::Result<Figures> {
        let mut command = Command::new(&self.program);
        match way {
            Way::Plain => command.arg("plain-loop"),
            Way::Sequential => command.args(["cat", "--sequential"]),
            Way::Threads(threads) => command.args(["cat", "-j", &threads.to_string()]),
        };
        let mut output = self.output.reopen()?;
        command
            .args(&self.plan.options)
            .stdin(Stdio::null())
            .stdout(output.try_clone()?);
        let begun = Instant::now();
        let mut child = command.spawn().context("a run cannot be started")?;
        let ended = child.wait4()?;
        let time = begun.elapsed();
        if !ended.status.success() {
            bail!("{way}: {}", ended.status);
        }
        // Where the run stopped writing: the two descriptors share their position.
        let bytes = output.stream_position()?;
        output.set_len(bytes)?;
        output.rewind()?;
        Ok(Figures {
            way,
            times: vec![time],
            cpu: ended.rusage.utime + ended.rusage.stime,
            peak: ended.rusage.maxrss,
            bytes,
            hash: hash(output)?,
        })
    }
}

/// Never 0.
fn hash(mut file: File) -> anyhow::Result<u64> {
    struct Hashes(DefaultHasher);
    impl Write for Hashes {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.write(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }
    let mut hashes = Hashes(DefaultHasher::new());
    std::io::copy(&mut Read::by_ref(&mut file), &mut hashes)?;
    Ok(hashes.0.finish().max(1))
}
