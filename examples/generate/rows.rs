//! Rows that look like a year of flights, drawn from a seed: the same seed gives the same bytes on every machine.

/// What the rows are written as.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// CSV without a single quote.
    Csv,
    /// CSV with quoting in about every tenth row: line breaks (LF and CRLF), doubled quotes, delimiters in quotes, and
    /// quotes that quote nothing because they stand inside a plain field.
    Quoted,
    /// One JSON object a line.
    Ndjson,
    /// Lines of a log, no header.
    Lines,
}

/// A little random generator (xorshift64*): fast, and good enough for test data.
struct Random(u64);

impl Random {
    fn new(seed: u64) -> Random {
        // The state may not be 0, and neighbouring seeds should not give alike rows.
        Random(seed.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    fn next(&mut self) -> u32 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 32) as u32
    }

    /// A number from 0 to `bound - 1`.
    fn below(&mut self, bound: u32) -> u32 {
        ((u64::from(self.next()) * u64::from(bound)) >> 32) as u32
    }

    fn pick<T: Copy>(&mut self, choices: &[T]) -> T {
        choices[self.below(choices.len() as u32) as usize]
    }
}

const COLUMNS: [&str; 19] = [
    "year",
    "month",
    "day",
    "dep_time",
    "sched_dep_time",
    "dep_delay",
    "arr_time",
    "sched_arr_time",
    "arr_delay",
    "carrier",
    "flight",
    "tailnum",
    "origin",
    "dest",
    "air_time",
    "distance",
    "hour",
    "minute",
    "time_hour",
];
const TAIL: usize = 11;

const CARRIERS: [&str; 10] = ["9E", "AA", "AS", "B6", "DL", "EV", "MQ", "UA", "US", "WN"];
const ORIGINS: [&str; 3] = ["EWR", "JFK", "LGA"];
const DESTINATIONS: [(&str, u32); 12] = [
    ("ATL", 762),
    ("BOS", 187),
    ("BQN", 1576),
    ("DCA", 213),
    ("FLL", 1076),
    ("IAH", 1416),
    ("LAX", 2475),
    ("MIA", 1089),
    ("ORD", 733),
    ("PHL", 94),
    ("SFO", 2586),
    ("SJU", 1608),
];

/// Quoted or quote-bearing texts for the tail number's column, as they stand in the file.
const QUOTED: [&str; 8] = [
    "\"N14228, on loan\"",
    "\"N24211\nreplaced at the gate\"",
    "\"N619AA\r\nreplaced at the gate\r\n\r\ntwice\"",
    "\"the \"\"Spirit\"\"\"",
    "\"\"",
    "\"N804JB\"",
    "\"\"\"N668DN\"\",\n\"\"N39463\"\"\"",
    "wing 28\" short",
];

/// A value of one column.
enum Value {
    Number(i32),
    Text(&'static str),
    Tail(u32),
    /// The hour of a day, in the full form of the last column.
    Hour {
        month: u32,
        day: u32,
        hour: u32,
    },
    Missing,
}

/// The rows of one file.
pub struct Rows {
    format: Format,
    random: Random,
}

impl Rows {
    /// The rows that belong to `seed`.
    pub fn new(format: Format, seed: u64) -> Rows {
        Rows {
            format,
            random: Random::new(seed),
        }
    }

    /// Appends the header, where the format has one.
    pub fn header(&self, out: &mut Vec<u8>) {
        if matches!(self.format, Format::Csv | Format::Quoted) {
            out.extend_from_slice(COLUMNS.join(",").as_bytes());
            out.push(b'\n');
        }
    }

    /// Appends the next row with its end.
    pub fn row(&mut self, out: &mut Vec<u8>) {
        let flight = self.flight();
        match self.format {
            Format::Csv => write_csv(&flight, None, out),
            Format::Quoted => {
                let tail = (self.random.below(10) == 0).then(|| self.random.pick(&QUOTED));
                write_csv(&flight, tail, out);
            }
            Format::Ndjson => write_json(&flight, out),
            Format::Lines => write_line(&flight, out),
        }
    }

    fn flight(&mut self) -> [Value; 19] {
        let random = &mut self.random;
        let (month, day) = (1 + random.below(12), 1 + random.below(28));
        let (hour, minute) = (5 + random.below(18), random.below(60));
        let (dest, distance) = random.pick(&DESTINATIONS);
        let air_time = 20 + distance / 8 + random.below(16);
        let late = random.below(60) as i32 - 15;
        let later = late + random.below(40) as i32 - 20;
        let flown = random.below(40) != 0;

        let scheduled = hour * 60 + minute;
        let clock = |minutes: i32| {
            let minutes = minutes.rem_euclid(24 * 60);
            Value::Number(minutes / 60 * 100 + minutes % 60)
        };
        let arrival = (scheduled + air_time + 30) as i32;
        let if_flown = |value: Value| if flown { value } else { Value::Missing };
        [
            Value::Number(2013),
            Value::Number(month as i32),
            Value::Number(day as i32),
            if_flown(clock(scheduled as i32 + late)),
            clock(scheduled as i32),
            if_flown(Value::Number(late)),
            if_flown(clock(arrival + later)),
            clock(arrival),
            if_flown(Value::Number(later)),
            Value::Text(random.pick(&CARRIERS)),
            Value::Number(1 + random.below(6000) as i32),
            Value::Tail(10_000 + random.below(90_000)),
            Value::Text(random.pick(&ORIGINS)),
            Value::Text(dest),
            if_flown(Value::Number(air_time as i32)),
            Value::Number(distance as i32),
            Value::Number(hour as i32),
            Value::Number(minute as i32),
            Value::Hour { month, day, hour },
        ]
    }
}

fn write_csv(flight: &[Value; 19], tail: Option<&str>, out: &mut Vec<u8>) {
    for (column, value) in flight.iter().enumerate() {
        if column > 0 {
            out.push(b',');
        }
        match tail {
            Some(text) if column == TAIL => out.extend_from_slice(text.as_bytes()),
            _ => write_value(value, out),
        }
    }
    out.push(b'\n');
}

fn write_json(flight: &[Value; 19], out: &mut Vec<u8>) {
    for (column, (name, value)) in COLUMNS.iter().zip(flight).enumerate() {
        out.extend_from_slice(if column == 0 { b"{\"" } else { b",\"" });
        out.extend_from_slice(name.as_bytes());
        out.extend_from_slice(b"\":");
        match value {
            Value::Number(_) => write_value(value, out),
            Value::Missing => out.extend_from_slice(b"null"),
            Value::Text(_) | Value::Tail(_) | Value::Hour { .. } => {
                out.push(b'"');
                write_value(value, out);
                out.push(b'"');
            }
        }
    }
    out.extend_from_slice(b"}\n");
}

/// `2013-01-01T05:00:00Z UA 1545 N14228 EWR IAH departed 517 arrived 830 delay 11 of 1400 miles`
fn write_line(flight: &[Value; 19], out: &mut Vec<u8>) {
    const WORDS: [(&str, usize); 10] = [
        ("", 18),
        (" ", 9),
        (" ", 10),
        (" ", TAIL),
        (" ", 12),
        (" ", 13),
        (" departed ", 3),
        (" arrived ", 6),
        (" delay ", 8),
        (" of ", 15),
    ];
    for (word, column) in WORDS {
        out.extend_from_slice(word.as_bytes());
        write_value(&flight[column], out);
    }
    out.extend_from_slice(b" miles\n");
}

fn write_value(value: &Value, out: &mut Vec<u8>) {
    match *value {
        Value::Number(number) => write_number(number, out),
        // Two or three bytes: a loop is faster than a call to copy them.
        Value::Text(text) => text.bytes().for_each(|byte| out.push(byte)),
        Value::Tail(number) => {
            out.push(b'N');
            write_number(number as i32, out);
        }
        Value::Hour { month, day, hour } => {
            let mut text = *b"2013-00-00T00:00:00Z";
            for (at, number) in [(5, month), (8, day), (11, hour)] {
                text[at] += (number / 10) as u8;
                text[at + 1] += (number % 10) as u8;
            }
            out.extend_from_slice(&text);
        }
        Value::Missing => out.extend_from_slice(b"NA"),
    }
}

/// Decimal digits without the cost of `write!`: four at a time, as one store.
fn write_number(number: i32, out: &mut Vec<u8>) {
    if number < 0 {
        out.push(b'-');
    }
    let number = number.unsigned_abs();
    if number < 10_000 {
        let leading = u32::from(number < 10) + u32::from(number < 100) + u32::from(number < 1000);
        let digits = u32::from_le_bytes(four_digits(number)) >> (8 * leading);
        out.extend_from_slice(&digits.to_le_bytes());
        out.truncate(out.len() - leading as usize);
    } else {
        write_number((number / 10_000) as i32, out);
        out.extend_from_slice(&four_digits(number % 10_000));
    }
}

fn four_digits(number: u32) -> [u8; 4] {
    [
        number / 1000,
        number / 100 % 10,
        number / 10 % 10,
        number % 10,
    ]
    .map(|digit| b'0' + digit as u8)
}
