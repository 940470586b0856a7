//! `--verify`: whether the command makes the same of the start of the input whole and in small chunks.

use std::fmt;
use std::io::{self, BufRead, BufReader, Read, Seek, SeekFrom};

use inorder::{ErrorKind, OnError, Sink, Source, StopHandle};
use tempfile::SpooledTempFile;

use super::ExecPlan;
use super::filter::Filter;
use super::result::Ends;
use crate::cli::args::OnErrorArg;
use crate::cli::voice::{Speaker, Voice};

/// The sample is cut into so many chunks.
const CHUNKS: usize = 64;
/// And of its first records, so many are chunks of their own.
const SINGLES: u64 = 32;
/// Results larger than this are compared on the disk.
const IN_MEMORY: usize = 16 << 20;
/// As much of a line is shown.
const SHOWN: u64 = 200;

/// Tries the command on the start of the input.
pub fn verify(
    plan: &ExecPlan,
    mut bytes: Vec<u8>,
    voice: &Voice,
    stop: &StopHandle,
) -> anyhow::Result<()> {
    let compare = |sample: &[u8], limit, ways| compare(plan, sample, limit, ways, stop);
    let whole = Way::Chunks(bytes.len(), u64::MAX);
    if plan.persistent {
        // A process that is asked for one record at a time gets that record with its end.
        let end = Ends::of(plan.plan.format_name);
        if bytes.last().is_some_and(|last| !end.is_end(*last)) {
            bytes.extend_from_slice(end.end());
        }
        let persistent = Way::Persistent(voice.speaker());
        compare(&bytes, u64::MAX, [whole, persistent])
    } else {
        let small = Way::Chunks(bytes.len().div_ceil(CHUNKS), u64::MAX);
        compare(&bytes, u64::MAX, [whole.clone(), small])?;
        compare(&bytes, SINGLES, [whole, Way::Chunks(bytes.len(), 1)])
    }
}

/// How the command is run over the sample.
#[derive(Debug, Clone)]
enum Way {
    /// Over chunks of so many bytes and records.
    Chunks(usize, u64),
    /// With `--persistent`, where a command that does not answer is to be heard of.
    Persistent(Speaker),
}

/// Compares the results of two ways.
fn compare(
    plan: &ExecPlan,
    sample: &[u8],
    limit: u64,
    ways: [Way; 2],
    stop: &StopHandle,
) -> anyhow::Result<()> {
    let [first, second] = ways;
    let failed = |error: inorder::Error, on: &str| match error.kind() {
        ErrorKind::Stopped => error.into(),
        _ => anyhow::anyhow!("--verify: the command failed on {on}: {error}"),
    };
    let mut whole = run(plan, sample, limit, first, stop)
        .map_err(|error| failed(error, "the start of the input"))?;
    let persistent = matches!(second, Way::Persistent(_));
    let mut cut = run(plan, sample, limit, second, stop)
        .map_err(|error| failed(error, "a part of what it took whole"))?;
    let Some(difference) = difference(&mut whole, &mut cut)? else {
        return Ok(());
    };
    Err(if persistent {
        anyhow::anyhow!(
            "--verify: the command's answers to --persistent are not what it makes of the whole: {difference}"
        )
    } else {
        anyhow::anyhow!(
            "--verify: the command can't be cut into chunks, its result is another one: {difference}; what remembers \
             earlier records can only come behind: inorder exec ... | COMMAND"
        )
    })
}

fn run(
    plan: &ExecPlan,
    sample: &[u8],
    limit: u64,
    way: Way,
    stop: &StopHandle,
) -> Result<SpooledTempFile, inorder::Error> {
    let limit = plan.plan.limit.map_or(limit, |typed| typed.min(limit));
    // Nothing is set aside on trial.
    let on_error = match plan.plan.failures.on_error {
        OnErrorArg::Stop => OnError::Stop,
        OnErrorArg::Skip | OnErrorArg::Reject => OnError::Skip,
    };
    // The sample is what the run makes of the input's start: text that is unpacked and decoded.
    let builder = plan
        .plan
        .trial_of_text()
        .skip_lines(0)
        .limit(limit)
        .on_error(on_error)
        .stop_handle(stop.clone());
    // What it says, it says again in the run.
    let (builder, filter) = match way {
        Way::Chunks(bytes, records) => (
            builder.chunk_size(bytes).chunk_records(records),
            Filter::new(plan, None, stop.clone()).by_chunks(),
        ),
        Way::Persistent(speaker) => (builder, Filter::new(plan, Some(speaker), stop.clone())),
    };
    let mut result = SpooledTempFile::new(IN_MEMORY);
    let pipeline = builder.build()?;
    pipeline.run(Source::bytes(sample), Sink::writer(&mut result), &filter)?;
    Ok(result)
}

/// Where two results differ.
#[derive(Debug, PartialEq)]
struct Difference {
    /// From 1.
    line: u64,
    whole: Option<String>,
    cut: Option<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Difference { line, whole, cut } = self;
        write!(f, "line {line} is ")?;
        shown(whole, f)?;
        f.write_str(" over the whole and ")?;
        shown(cut, f)?;
        f.write_str(" over chunks")
    }
}

fn shown(line: &Option<String>, f: &mut fmt::Formatter<'_>) -> fmt::Result {
    match line {
        Some(line) => write!(f, "{line:?}"),
        None => f.write_str("not there"),
    }
}

/// The first difference, if there is one.
fn difference(
    whole: &mut (impl Read + Seek),
    cut: &mut (impl Read + Seek),
) -> io::Result<Option<Difference>> {
    whole.rewind()?;
    cut.rewind()?;
    let (mut line, mut line_start, mut at) = (1, 0, 0);
    {
        let (mut one, mut two) = (BufReader::new(&mut *whole), BufReader::new(&mut *cut));
        loop {
            let (left, right) = (one.fill_buf()?, two.fill_buf()?);
            let n = left.len().min(right.len());
            if left.is_empty() && right.is_empty() {
                return Ok(None);
            }
            let same = left.iter().zip(right).take_while(|(l, r)| l == r).count();
            for end in memchr::memchr_iter(b'\n', &left[..same]) {
                line += 1;
                line_start = at + end as u64 + 1;
            }
            at += same as u64;
            if n == 0 || same < n {
                break;
            }
            one.consume(n);
            two.consume(n);
        }
    }
    Ok(Some(Difference {
        line,
        whole: line_at(whole, line_start)?,
        cut: line_at(cut, line_start)?,
    }))
}

/// The line that begins there, as much of it as is shown; `None` at the end.
fn line_at(result: &mut (impl Read + Seek), start: u64) -> io::Result<Option<String>> {
    result.seek(SeekFrom::Start(start))?;
    let mut line = Vec::new();
    BufReader::new(result.take(SHOWN)).read_until(b'\n', &mut line)?;
    Ok((!line.is_empty()).then(|| String::from_utf8_lossy(&line).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Cursor;

    fn of(whole: &[u8], cut: &[u8]) -> Option<(u64, Option<String>, Option<String>)> {
        let found = difference(&mut Cursor::new(whole), &mut Cursor::new(cut)).unwrap();
        found.map(|found| (found.line, found.whole, found.cut))
    }

    #[test]
    fn the_first_difference_is_found() {
        let text = |text: &str| Some(text.to_owned());
        assert_eq!(of(b"a\nb\n", b"a\nb\n"), None);
        assert_eq!(of(b"", b""), None);
        assert_eq!(
            of(b"a\nb\nc\n", b"a\nx\nc\n"),
            Some((2, text("b\n"), text("x\n")))
        );
        assert_eq!(of(b"a\n", b"a\nb\n"), Some((2, None, text("b\n"))));
        assert_eq!(of(b"a\nb", b"a\nbc"), Some((2, text("b"), text("bc"))));
        let long = [b"x\n".repeat(10_000), b"y".to_vec()].concat();
        assert_eq!(of(&long, &long[..20_000]), Some((10_001, text("y"), None)));
    }
}
