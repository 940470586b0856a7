//! Finds record ends in bytes that come bit by bit from somewhere else than an input.

use super::scan::{Scanner, Want};
use crate::format::Format;

/// Splits bytes that come bit by bit into records, by the same rules as inputs: see [`Format::splitter`].
#[derive(Debug, Clone)]
pub struct Splitter(Scanner);

impl Format {
    /// For the answers of a service or a process, for example. A header is a record like any other here.
    ///
    /// ```
    /// use inorder::Format;
    ///
    /// let mut splitter = Format::csv().splitter();
    /// let mut bytes = b"1,\"two".to_vec();
    /// assert_eq!(splitter.next_record(&bytes), None);
    /// bytes.extend_from_slice(b"\nlines\"\n2,x\n");
    /// assert_eq!(splitter.next_record(&bytes), Some(14));
    /// assert_eq!(splitter.next_record(&bytes[14..]), Some(4));
    /// ```
    pub fn splitter(&self) -> Splitter {
        Splitter(Scanner::new(self.framing))
    }
}

impl Splitter {
    /// The length of the first record, with its end and with the blank lines before it that are no records; `None` if `bytes` does
    /// not have all of it. The next call gets what follows the record, or after `None` the same bytes with more behind them: no byte
    /// is looked at twice.
    ///
    /// A CR at the end of `bytes` ends no record of CSV before it is known that no LF follows.
    pub fn next_record(&mut self, bytes: &[u8]) -> Option<usize> {
        let one = Want {
            bytes: usize::MAX,
            records: 1,
            flush: false,
        };
        self.0.cut(bytes, false, &one).map(|cut| cut.len)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The records of `text`, given byte by byte.
    fn split(format: &Format, text: &str) -> Vec<String> {
        let mut splitter = format.splitter();
        let (mut records, mut bytes) = (Vec::new(), Vec::new());
        for byte in text.bytes() {
            bytes.push(byte);
            while let Some(len) = splitter.next_record(&bytes) {
                let rest = bytes.split_off(len);
                records.push(String::from_utf8(std::mem::replace(&mut bytes, rest)).unwrap());
            }
        }
        records
    }

    #[test]
    fn records_come_one_by_one() {
        assert_eq!(
            split(&Format::lines(), "a\n\nb\r\nc"),
            ["a\n", "\n", "b\r\n"]
        );
        assert_eq!(split(&Format::nul(), "a\0b\n\0"), ["a\0", "b\n\0"]);
        assert_eq!(split(&Format::ndjson(), "1\n\n{}\n"), ["1\n", "\n{}\n"]);
        assert_eq!(
            split(&Format::csv(), "a,\"x\ny\"\r\n\nb\rc\n"),
            ["a,\"x\ny\"\r\n", "\nb\r", "c\n"]
        );
    }
}
