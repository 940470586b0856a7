//! Trying again what failed.

use std::error::Error;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

/// How often, and after what delay, a failing record is tried again before it counts as failed; of work on
/// [whole chunks](crate::ChunkError::Whole) this holds for the chunk.
///
/// The delay doubles with each attempt, up to 30 seconds, and of that between half and all is waited, by chance, so that many that failed
/// together do not come back together. No thread sleeps for it: the workers go on with other chunks, as far as the
/// [memory](crate::Builder::memory) allows; the output waits, as it is in order.
///
/// ```
/// use inorder::{Pipeline, Retry};
/// use std::time::Duration;
///
/// let retry = Retry::new(3)
///     .delay(Duration::from_millis(500))
///     .when(|error| error.downcast_ref::<std::io::Error>().is_some());
/// let pipeline = Pipeline::builder().retry(retry).build()?;
/// # Ok::<(), inorder::Error>(())
/// ```
#[derive(Clone, Default)]
pub struct Retry {
    retries: u32,
    delay: Duration,
    when: Option<Arc<When>>,
}

/// Whether an error is worth another attempt.
type When = dyn Fn(&(dyn Error + 'static)) -> bool + Send + Sync;

/// The longest delay, unless the first is longer.
const LONGEST: Duration = Duration::from_secs(30);

impl Retry {
    /// Up to so many attempts beyond the first, after a delay of 100 ms before the first of them.
    pub fn new(retries: u32) -> Retry {
        Retry {
            retries,
            delay: Duration::from_millis(100),
            when: None,
        }
    }

    /// The delay before the second attempt; zero is none before any. Default: 100 ms.
    pub fn delay(mut self, delay: Duration) -> Retry {
        self.delay = delay;
        self
    }

    /// Only errors for which this is true are worth another attempt. A panic of the work is an error too, that says so. If `when` itself
    /// panics, that counts as false. Default: all are.
    pub fn when(
        mut self,
        when: impl Fn(&(dyn Error + 'static)) -> bool + Send + Sync + 'static,
    ) -> Retry {
        self.when = Some(Arc::new(when));
        self
    }

    /// Whether to try again what failed this often, the last time with this error.
    pub(crate) fn again(&self, tries: u32, error: &(dyn Error + 'static)) -> bool {
        let wanted = |when: &Arc<When>| {
            catch_unwind(AssertUnwindSafe(|| when(error))).unwrap_or_else(|payload| {
                crate::error::drop_quietly(payload);
                false
            })
        };
        tries <= self.retries && self.when.as_ref().is_none_or(wanted)
    }

    /// How long to wait after this many attempts.
    pub(crate) fn wait_after(&self, tries: u32) -> Duration {
        let doubled = 2u32
            .checked_pow(tries.saturating_sub(1))
            .and_then(|times| self.delay.checked_mul(times));
        let whole = doubled
            .map_or(LONGEST, |delay| delay.min(LONGEST))
            .max(self.delay);
        let share = RandomState::new().hash_one(tries) as f64 / u64::MAX as f64;
        whole.mul_f64(if self.delay.is_zero() {
            0.0
        } else {
            0.5 + share / 2.0
        })
    }
}

impl fmt::Debug for Retry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Retry")
            .field("retries", &self.retries)
            .field("delay", &self.delay)
            .field("always", &self.when.is_none())
            .finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delay_doubles_to_half_a_minute() {
        let retry = Retry::new(100).delay(Duration::from_millis(100));
        for (tries, whole) in [
            (1, 100),
            (2, 200),
            (5, 1600),
            (9, 25_600),
            (10, 30_000),
            (90, 30_000),
        ] {
            for _ in 0..50 {
                let wait = retry.wait_after(tries).as_millis();
                assert!((whole / 2..=whole).contains(&wait), "{tries}: {wait}");
            }
        }
        let long = Retry::new(9).delay(Duration::from_secs(60));
        assert!(long.wait_after(8) >= Duration::from_secs(30));
        assert!(long.wait_after(8) <= Duration::from_secs(60));
        assert_eq!(
            Retry::new(9).delay(Duration::ZERO).wait_after(9),
            Duration::ZERO
        );
    }

    #[test]
    fn what_is_tried_again() {
        let error = std::io::Error::other("no");
        assert!(!Retry::default().again(1, &error));
        assert!(Retry::new(2).again(2, &error));
        assert!(!Retry::new(2).again(3, &error));
        let never = Retry::new(2).when(|error| error.is::<std::fmt::Error>());
        assert!(!never.again(1, &error));
        assert!(never.again(1, &std::fmt::Error));
    }
}
