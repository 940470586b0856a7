//! A record longer than the limit.

use std::fmt;

use crate::format::Framing;
use crate::frame::scan::{Scanner, Want};

/// A record is longer than allowed.
#[derive(Debug, Clone)]
pub(crate) struct TooLong {
    most: usize,
    /// The quote that is still open where the record passes the limit: where it stands in the record.
    pub quote: Option<usize>,
}

impl TooLong {
    /// `record` begins with the record and has more than `most` bytes. However much of it there is, the error is the same.
    pub fn new(record: &[u8], framing: Framing, most: usize) -> TooLong {
        let mut scanner = Scanner::new(framing);
        let all = Want {
            bytes: usize::MAX,
            records: u64::MAX,
            flush: false,
        };
        // Nothing is to be cut: this brings the scanner to the limit.
        let _ = scanner.cut(&record[..most], false, &all);
        TooLong {
            most,
            quote: scanner.open_quote(),
        }
    }
}

impl fmt::Display for TooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "record longer than {}", Size(self.most))
    }
}

impl std::error::Error for TooLong {}

/// A size in the largest binary unit that shows it exactly.
struct Size(usize);

impl fmt::Display for Size {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const UNITS: [(usize, &str); 3] = [(1 << 30, "GiB"), (1 << 20, "MiB"), (1 << 10, "KiB")];
        for (unit, name) in UNITS {
            if self.0 >= unit && self.0.is_multiple_of(unit) {
                return write!(f, "{}{name}", self.0 / unit);
            }
        }
        write!(f, "{} bytes", self.0)
    }
}
