//! WORK: time spent on every record, so that order can be proven and load shown.

use std::error::Error;
use std::fmt;
use std::hint::black_box;
use std::ops::RangeInclusive;
use std::str::FromStr;
use std::thread;
use std::time::Duration;

use super::units;

/// What is done to each record besides passing it on: `none`, `fib:N`, `fib:N..M`, `sleep:D`, `sleep:D..E`, `fail:RATE`, several by commas.
///
/// What falls to a record is drawn from its number alone, whether it fails from its number and the attempt: the same every run, with any
/// number of threads.
#[derive(Debug, Clone, PartialEq)]
pub struct Work {
    typed: String,
    steps: Vec<Step>,
}

#[derive(Debug, Clone, PartialEq)]
enum Step {
    Fib(RangeInclusive<u64>),
    Sleep(RangeInclusive<u64>),
    /// Fails an attempt whose draw lies below this.
    Fail(u64),
}

/// The failure that `fail:RATE` made.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkFailed;

impl fmt::Display for WorkFailed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("drawn by --work fail")
    }
}

impl Error for WorkFailed {}

impl Default for Work {
    fn default() -> Work {
        Work {
            typed: "none".to_string(),
            steps: Vec::new(),
        }
    }
}

impl fmt::Display for Work {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.typed)
    }
}

impl Work {
    /// Whether some records are meant to fail.
    pub fn may_fail(&self) -> bool {
        self.steps.iter().any(|step| matches!(step, Step::Fail(_)))
    }

    /// Whether nothing is done to any record.
    pub fn is_none(&self) -> bool {
        self.steps.is_empty()
    }

    /// Spends what falls to the record of this number, at this attempt (from 0).
    pub fn spend(&self, number: u64, attempt: u32) -> Result<(), WorkFailed> {
        for (index, step) in self.steps.iter().enumerate() {
            let draw = match (step, attempt) {
                (Step::Fail(_), 1..) => draw(draw(number, index as u64), attempt.into()),
                _ => draw(number, index as u64),
            };
            match step {
                Step::Fib(range) => {
                    black_box(fib(black_box(within(range, draw))));
                }
                Step::Sleep(range) => thread::sleep(Duration::from_nanos(within(range, draw))),
                Step::Fail(below) if draw < *below => return Err(WorkFailed),
                Step::Fail(_) => {}
            }
        }
        Ok(())
    }
}

/// The Fibonacci number by the slow definition: work that no memory access disturbs.
fn fib(n: u64) -> u64 {
    if n < 2 { n } else { fib(n - 1) + fib(n - 2) }
}

/// A number for this record and step that never changes: two rounds of SplitMix64.
fn draw(number: u64, step: u64) -> u64 {
    mix(mix(number).wrapping_add(step))
}

fn mix(seed: u64) -> u64 {
    let mut z = seed.wrapping_add(0x9e37_79b9_7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    z ^ (z >> 31)
}

/// The draw brought into the range, evenly.
fn within(range: &RangeInclusive<u64>, draw: u64) -> u64 {
    let width = u128::from(range.end() - range.start()) + 1;
    range.start() + ((u128::from(draw) * width) >> 64) as u64
}

impl FromStr for Work {
    type Err = String;

    fn from_str(text: &str) -> Result<Work, String> {
        if text == "none" {
            return Ok(Work::default());
        }
        let steps = text
            .split(',')
            .map(|step| match step.split_once(':') {
                Some(("fib", n)) => span(n, fib_number).map(Step::Fib),
                Some(("sleep", d)) => span(d, nanoseconds).map(Step::Sleep),
                Some(("fail", rate)) => threshold(rate).map(Step::Fail),
                _ => Err("work is none, fib:N, fib:N..M, sleep:D, sleep:D..E or fail:RATE, several by commas".to_string()),
            })
            .collect::<Result<Vec<Step>, String>>()?;
        Ok(Work {
            typed: text.to_string(),
            steps,
        })
    }
}

/// `A` or `A..B`, both ends included.
fn span(
    text: &str,
    one: impl Fn(&str) -> Result<u64, String>,
) -> Result<RangeInclusive<u64>, String> {
    let (low, high) = text.split_once("..").unwrap_or((text, text));
    let range = one(low)?..=one(high)?;
    if range.is_empty() {
        return Err(format!("{text}: the range ends before it begins"));
    }
    Ok(range)
}

fn fib_number(text: &str) -> Result<u64, String> {
    match text.parse() {
        // fib(93) is the last that fits 64 bits.
        Ok(n) if n <= 93 => Ok(n),
        _ => Err("the N of fib:N is a number from 0 to 93".to_string()),
    }
}

fn nanoseconds(text: &str) -> Result<u64, String> {
    u64::try_from(units::duration(text)?.as_nanos()).map_err(|_| "it is too long".to_string())
}

/// `1%` or `0.01`: the draws below the result fail.
fn threshold(text: &str) -> Result<u64, String> {
    let (number, scale) = match text.strip_suffix('%') {
        Some(number) => (number, 100.0),
        None => (text, 1.0),
    };
    match number.parse::<f64>() {
        Ok(number) if (0.0..=scale).contains(&number) => {
            // A float above the range becomes the largest u64.
            Ok((number / scale * 2f64.powi(64)) as u64)
        }
        _ => Err("the RATE of fail:RATE is a share such as 1% or 0.01".to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(text: &str) -> Work {
        text.parse()
            .unwrap_or_else(|error| panic!("{text}: {error}"))
    }

    #[test]
    fn what_can_be_typed() {
        assert_eq!(work("none"), Work::default());
        assert_eq!(work("fib:20").steps, [Step::Fib(20..=20)]);
        assert_eq!(work("fib:1..18").steps, [Step::Fib(1..=18)]);
        assert_eq!(
            work("sleep:10ms,fail:1").steps,
            [Step::Sleep(10_000_000..=10_000_000), Step::Fail(u64::MAX)]
        );
        assert_eq!(
            work("sleep:1..2s").steps,
            [Step::Sleep(1_000_000_000..=2_000_000_000)]
        );
        assert_eq!(work("fail:50%").steps, [Step::Fail(1 << 63)]);
        for text in [
            "",
            "fib",
            "fib:",
            "fib:-1",
            "fib:94",
            "fib:5..4",
            "fib:1..",
            "sleep:x",
            "fail:101%",
            "fail:-1%",
            "fail:nan",
            "fail:",
            "none,fib:1",
            "fib:1,",
            "nap:1s",
        ] {
            assert!(text.parse::<Work>().is_err(), "{text}");
        }
    }

    #[test]
    fn draws_never_change() {
        // Pinned, as another implementation of SplitMix64 gives them: which records fail must not change with a version.
        assert_eq!(draw(1, 0), 0x5e41_ab08_7439_611e);
        assert_eq!(draw(2, 0), 0x6468_4c4f_0fd7_84b4);
        assert_eq!(draw(1, 1), 0x86d6_fd95_3217_ae03);
    }

    #[test]
    fn draws_fill_their_range_evenly() {
        let mut seen = [0u32; 18];
        for number in 1..=18_000 {
            seen[within(&(1..=18), draw(number, 0)) as usize - 1] += 1;
        }
        assert!(
            seen.iter().all(|&times| (850..1150).contains(&times)),
            "{seen:?}"
        );
        assert_eq!(within(&(0..=u64::MAX), u64::MAX), u64::MAX);
        assert_eq!(within(&(7..=7), u64::MAX), 7);
    }

    #[test]
    fn fails_at_the_rate_asked_for() {
        let failing = |text| {
            let work = work(text);
            (1..=10_000)
                .filter(|&number| work.spend(number, 0).is_err())
                .count()
        };
        assert_eq!(failing("fail:0"), 0);
        assert_eq!(failing("fail:1"), 10_000);
        assert!((60..140).contains(&failing("fail:1%")));
    }

    #[test]
    fn another_attempt_has_its_own_luck() {
        let work = work("fail:50%");
        let lucky = |number: &u64| work.spend(*number, 1).is_ok();
        let failed = (1..=1000).filter(|&number| work.spend(number, 0).is_err());
        let saved = failed.filter(lucky).count();
        assert!((200..300).contains(&saved), "{saved}");
    }

    #[test]
    fn fib_is_fib() {
        assert_eq!(
            (0..10).map(fib).collect::<Vec<_>>(),
            [0, 1, 1, 2, 3, 5, 8, 13, 21, 34]
        );
    }
}
