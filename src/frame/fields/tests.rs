use proptest::prelude::*;

use super::*;

const CSV: Dialect = Dialect {
    delimiter: b',',
    quote: Some(b'"'),
    doubling: true,
};

fn read(content: &[u8], dialect: Dialect) -> Vec<Cow<'_, [u8]>> {
    fields(content, dialect).collect()
}

fn dialect() -> impl Strategy<Value = Dialect> {
    let delimiter = prop_oneof![3 => Just(b','), 1 => Just(b'\t'), 1 => Just(0)];
    let quote = prop_oneof![3 => Just(Some(b'"')), 1 => Just(None), 1 => Just(Some(b'\'')), 1 => Just(Some(1))];
    (delimiter, quote, any::<bool>()).prop_map(|(delimiter, quote, doubling)| Dialect {
        delimiter,
        quote,
        doubling,
    })
}

fn row() -> impl Strategy<Value = Vec<Vec<u8>>> {
    let plain = prop_oneof![Just(b'a'), Just(0x80), Just(b'\\'), Just(b'z')];
    let special = prop_oneof![
        6 => Just(b'a'), 2 => Just(b'"'), 2 => Just(b','), 1 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(0), 1 => Just(b'\t'),
        1 => Just(b'\''), 1 => Just(0x80), 1 => Just(1)
    ];
    let field = prop_oneof![4 => proptest::collection::vec(plain, 0..40), 1 => proptest::collection::vec(special, 0..20)];
    proptest::collection::vec(field, 0..30)
}

/// A reader of the `csv` crate reads what was written.
fn read_back(bytes: &[u8], dialect: Dialect) -> Vec<Vec<Vec<u8>>> {
    let mut builder = csv::ReaderBuilder::new();
    builder
        .has_headers(false)
        .flexible(true)
        .delimiter(dialect.delimiter)
        .double_quote(dialect.doubling);
    let mut reader = builder
        .quoting(dialect.quote.is_some())
        .quote(dialect.quote.unwrap_or(b'"'))
        .from_reader(bytes);
    reader
        .byte_records()
        .map(|r| r.expect("flexible").iter().map(<[u8]>::to_vec).collect())
        .collect()
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn a_written_row_is_that_of_the_csv_crate_and_reads_back(row in row(), dialect in dialect()) {
        let mut out = b"before\n".to_vec();
        let result = write_row(&mut out, dialect, &row);
        let written = out[7..].to_vec();
        prop_assert_eq!(&out[..7], b"before\n");
        if let (Some(quote), true) = (dialect.quote, dialect.doubling) {
            let mut writer = csv::WriterBuilder::new().flexible(true).delimiter(dialect.delimiter).quote(quote).from_writer(Vec::new());
            writer.write_record(&row).expect("to memory");
            let mut expected = writer.into_inner().expect("to memory");
            prop_assert_eq!(expected.pop(), Some(b'\n'));
            prop_assert_eq!(&written, &expected);
            prop_assert_eq!(result, Ok(()));
        }
        let special = |field: &Vec<u8>| field.iter().any(|b| *b == dialect.delimiter || *b == b'\n' || *b == b'\r');
        match result {
            Ok(()) => {
                let expected = if row.is_empty() { vec![Vec::new()] } else { row };
                prop_assert_eq!(&read(&written, dialect), &expected);
                prop_assert_eq!(read_back(&out, dialect).pop(), Some(expected));
            }
            Err(index) => {
                prop_assert!(written.is_empty());
                let blank = row.len() <= 1 && row.iter().all(Vec::is_empty);
                let allowed = match dialect.quote {
                    None => blank || special(&row[index]) && !row[..index].iter().any(special),
                    Some(quote) => !dialect.doubling && row[index].contains(&quote),
                };
                prop_assert!(allowed);
            }
        }
    }
}

#[test]
fn fields_are_borrowed_unless_joined() {
    let row = b"a,\"b,\nc\",,\"d\"\"e\",\"f\"g,h\"i,";
    let found = read(row, CSV);
    assert_eq!(
        found,
        [&b"a"[..], b"b,\nc", b"", b"d\"e", b"fg", b"h\"i", b""]
    );
    let owned: Vec<_> = found
        .iter()
        .map(|field| matches!(field, Cow::Owned(_)))
        .collect();
    assert_eq!(owned, [false, false, false, true, true, false, false]);
    assert_eq!(count_fields(row, CSV), 7);
}

#[test]
fn an_open_quote_holds_the_rest() {
    assert_eq!(read(b"a,\"b,c", CSV), [&b"a"[..], b"b,c"]);
    assert_eq!(read(b"a,\"", CSV), [&b"a"[..], b""]);
    assert_eq!(read(b"\"b\"\",c", CSV), [&b"b\",c"[..]]);
}

#[test]
fn without_quotes_all_bytes_are_data() {
    let tsv = Dialect {
        delimiter: b'\t',
        quote: None,
        doubling: true,
    };
    assert_eq!(read(b"\"a\t\"b\"", tsv), [&b"\"a"[..], b"\"b\""]);
    let mut out = b"x".to_vec();
    assert_eq!(write_row(&mut out, tsv, ["\"a", "b,c"]), Ok(()));
    assert_eq!(out, b"x\"a\tb,c");
    assert_eq!(write_row(&mut out, tsv, ["a", "b\tc"]), Err(1));
    assert_eq!(write_row(&mut out, tsv, [""]), Err(0));
    assert_eq!(out, b"x\"a\tb,c");
}

#[test]
fn without_doubling_a_quote_can_only_be_plain() {
    let dialect = Dialect {
        doubling: false,
        ..CSV
    };
    let mut out = Vec::new();
    assert_eq!(write_row(&mut out, dialect, ["a\"b", "c,d"]), Ok(()));
    assert_eq!(out, b"a\"b,\"c,d\"");
    assert_eq!(write_row(&mut out, dialect, ["a", "\"b"]), Err(1));
    assert_eq!(write_row(&mut out, dialect, ["a\",b"]), Err(0));
    assert_eq!(read(b"\"a\"b\"c,d", dialect), [&b"ab\"c"[..], b"d"]);
}
