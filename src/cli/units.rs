//! Sizes, durations and single characters as they are typed; numbers as they are shown.

use inorder::Encoding;
use std::time::Duration;

use indicatif::HumanCount;
use parse_size::{Config, Error};

/// A size in bytes: `64k`, `10M`, `1.5GiB` count in powers of 1024, `kB`, `MB`, `GB` in powers of 1000; a bare number is bytes.
pub fn size(text: &str) -> Result<usize, String> {
    let text = text.trim();
    let of_1000 = text.len() >= 2
        && text.ends_with(['b', 'B'])
        && !text[..text.len() - 1].ends_with(['i', 'I']);
    let config = if of_1000 {
        Config::new()
    } else {
        Config::new().with_binary()
    };
    let bytes = config.parse_size(text).map_err(|error| match error {
        Error::PosOverflow => "it is too large".to_string(),
        _ => "a size is a number with a unit, such as 64k, 10M, 1GiB or 1GB".to_string(),
    })?;
    usize::try_from(bytes).map_err(|_| "it is too large".to_string())
}

/// A duration: `250ms`, `5s`, `1.5s`, `2m`, `1h 30m`; a bare number is seconds.
pub fn duration(text: &str) -> Result<Duration, String> {
    let text = text.trim();
    let help = || "a duration is a number with a unit, such as 250ms, 5s or 2m".to_string();
    let (number, unit) = text.split_at(
        text.find(|c: char| !c.is_ascii_digit() && c != '.')
            .unwrap_or(text.len()),
    );
    let seconds = match unit.trim() {
        "" | "s" => 1.0,
        "ms" => 1e-3,
        "us" => 1e-6,
        "m" => 60.0,
        "h" => 3600.0,
        _ => return humantime::parse_duration(text).map_err(|_| help()),
    };
    let number: f64 = number.parse().map_err(|_| help())?;
    // Rounded to nanoseconds: 0.1 ms is not a sum of powers of two.
    let nanos = (number * seconds * 1e9).round();
    if nanos >= u64::MAX as f64 {
        return Err("it is too long".to_string());
    }
    Ok(Duration::from_nanos(nanos as u64))
}

/// So many records in so much time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rate {
    pub records: u64,
    pub per: Duration,
}

/// A rate: `500/s`, `30/m`.
pub fn rate(text: &str) -> Result<Rate, String> {
    let help =
        || "a rate is a number of records a second or a minute, such as 500/s or 30/m".to_string();
    let (number, unit) = text.trim().split_once('/').ok_or_else(help)?;
    let seconds = match unit.trim() {
        "s" => 1,
        "m" => 60,
        _ => return Err(help()),
    };
    let records = number.trim().parse().map_err(|_| help())?;
    if records == 0 {
        return Err(help());
    }
    Ok(Rate {
        records,
        per: Duration::from_secs(seconds),
    })
}

/// One ASCII character of a dialect: itself, `tab`, or an escape (`\t`, `\\`, `\x01`).
pub fn character(text: &str) -> Result<u8, String> {
    let help = || {
        "it must be one ASCII character, `tab`, or an escape such as `\\t` or `\\x01`".to_string()
    };
    if let [byte] = text.as_bytes() {
        return Ok(*byte).and_then(|byte| {
            if byte.is_ascii() {
                Ok(byte)
            } else {
                Err(help())
            }
        });
    }
    match text {
        "tab" | r"\t" => Ok(b'\t'),
        r"\\" => Ok(b'\\'),
        r"\0" => Ok(0),
        _ => {
            let digits = text.strip_prefix(r"\x").ok_or_else(help)?;
            if digits.len() != 2 || !digits.bytes().all(|digit| digit.is_ascii_hexdigit()) {
                return Err(help());
            }
            match u8::from_str_radix(digits, 16) {
                Ok(byte) if byte.is_ascii() => Ok(byte),
                _ => Err(help()),
            }
        }
    }
}

/// `1 record`, `2 records`.
pub fn counted(number: u64, what: &str) -> String {
    let s = if number == 1 { "" } else { "s" };
    format!("{} {what}{s}", grouped(number))
}

/// A number with a comma after every three digits.
pub fn grouped(number: u64) -> String {
    HumanCount(number).to_string()
}

/// A label of the WHATWG Encoding Standard.
pub fn encoding(label: &str) -> Result<Encoding, String> {
    Encoding::for_label(label).ok_or_else(|| {
        "no label of the WHATWG Encoding Standard; utf-8, utf-16le, utf-16be, windows-1252, iso-8859-2, shift_jis, \
         gb18030 are some"
            .to_owned()
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts() {
        assert_eq!(counted(0, "fault"), "0 faults");
        assert_eq!(counted(1, "fault"), "1 fault");
        assert_eq!(counted(1_234_567, "fault"), "1,234,567 faults");
    }

    #[test]
    fn rates() {
        let of = |records, seconds| {
            Ok(Rate {
                records,
                per: Duration::from_secs(seconds),
            })
        };
        assert_eq!(rate("500/s"), of(500, 1));
        assert_eq!(rate(" 30 / m"), of(30, 60));
        for wrong in ["500", "0/s", "-1/s", "1.5/s", "5/h", "/s", ""] {
            assert!(rate(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn sizes() {
        for (text, bytes) in [
            ("0", 0),
            ("123", 123),
            ("7B", 7),
            ("7 b", 7),
            ("64k", 64 << 10),
            ("64K", 64 << 10),
            ("10M", 10 << 20),
            ("2G", 2 << 30),
            ("1T", 1 << 40),
            ("1KiB", 1 << 10),
            ("16MiB", 16 << 20),
            ("1gib", 1 << 30),
            ("1kB", 1000),
            ("1MB", 1_000_000),
            ("3 GB", 3_000_000_000),
            ("1.5M", 3 << 19),
            ("0.5kB", 500),
        ] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in [
            "",
            " ",
            "M",
            "-1",
            "1X",
            "1MM",
            "ten",
            "1 2 x",
            "é",
            "99999999E",
        ] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, nanos) in [
            ("0", 0),
            ("5", 5_000_000_000),
            ("0.25", 250_000_000),
            ("250ms", 250_000_000),
            ("0.1ms", 100_000),
            ("10us", 10_000),
            ("5s", 5_000_000_000),
            ("1.5s", 1_500_000_000),
            ("2m", 120_000_000_000),
            ("1h 30m", 5_400_000_000_000),
            ("100ns", 100),
        ] {
            assert_eq!(duration(text), Ok(Duration::from_nanos(nanos)), "{text}");
        }
        for text in [
            "",
            "-1",
            "5x",
            "1..2",
            "s",
            "nan",
            "inf",
            "1e3",
            "99999999999999h",
        ] {
            assert!(duration(text).is_err(), "{text}");
        }
    }

    #[test]
    fn characters() {
        for (text, byte) in [
            (",", b','),
            (";", b';'),
            ("\t", b'\t'),
            (r"\t", b'\t'),
            ("tab", b'\t'),
            (r"\x01", 1),
            (r"\x7C", b'|'),
            (r"\0", 0),
            (r"\", b'\\'),
            (r"\\", b'\\'),
            ("'", b'\''),
        ] {
            assert_eq!(character(text), Ok(byte), "{text}");
        }
        for text in [
            "", ",,", "§", r"\x", r"\x1", r"\xfff", r"\xff", r"\x+1", r"\q", "TAB ",
        ] {
            assert!(character(text).is_err(), "{text}");
        }
    }
}
