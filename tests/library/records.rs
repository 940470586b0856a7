//! Ordered values from records, and values written as rows.

use inorder::{ErrorKind, Format, OnError, Pipeline, Sink, Source};

use crate::support::Watchdog;

fn lines(count: usize) -> Vec<u8> {
    let line = |n: usize| format!("{n}{}\n", "x".repeat(n * 37 % 5000));
    (0..count).map(line).collect::<String>().into_bytes()
}

/// The source must live as long as the values may.
fn source(bytes: Vec<u8>) -> Source<'static> {
    Source::reader(std::io::Cursor::new(bytes))
}

#[test]
fn values_come_in_order_whatever_the_memory() {
    let _watchdog = Watchdog::new();
    for threads in [1, 2, 7] {
        for memory in [1, 1000, 8192, 1 << 26] {
            let builder = Pipeline::builder().threads(threads).memory(memory);
            let pipeline = builder.chunk_records(1).build().unwrap();
            let records = pipeline.records(source(lines(2000))).unwrap();
            let numbers = records.map(|record| Ok::<_, std::fmt::Error>(record.number()));
            let numbers: Vec<u64> = numbers.map(Result::unwrap).collect();
            assert_eq!(numbers, (1..=2000).collect::<Vec<u64>>());
        }
    }
}

#[test]
fn blank_lines_cost_no_hang() {
    let _watchdog = Watchdog::new();
    let input: String = (0..3000)
        .map(|n| format!("{{}}{}", "\n".repeat(1 + n % 60)))
        .collect();
    let builder = Pipeline::builder().format(Format::ndjson()).threads(2);
    let pipeline = builder.memory(2048).chunk_records(1).build().unwrap();
    let records = pipeline.records(source(input.into_bytes())).unwrap();
    let values = records.map(|record| Ok::<_, std::fmt::Error>(record.offset()));
    assert_eq!(values.map(Result::unwrap).count(), 3000);
}

#[test]
fn the_first_error_in_order_ends_the_values_and_says_where() {
    let _watchdog = Watchdog::new();
    let work = |record: &inorder::Record<'_>| match record.number() {
        700 => Err("wrong"),
        800 => panic!("worse"),
        number => Ok(number),
    };
    let pipeline = Pipeline::builder().threads(3).build().unwrap();
    let mut values = pipeline.records(source(lines(2000))).unwrap().map(work);
    let before: Vec<u64> = values.by_ref().map_while(Result::ok).collect();
    assert_eq!(before, (1..700).collect::<Vec<u64>>());
    assert!(values.next().is_none());

    let values = pipeline.records(source(lines(2000))).unwrap().map(work);
    let error = values.last().unwrap().unwrap_err();
    assert_eq!(error.position().unwrap().record, 700);
    assert_eq!(error.position().unwrap().line, 700);

    let skipping = Pipeline::builder().on_error(OnError::Skip).build().unwrap();
    let values = skipping.records(source(lines(2000))).unwrap().map(work);
    let all: Vec<u64> = values.map(Result::unwrap).collect();
    assert!(
        all.iter()
            .copied()
            .eq((1..=2000).filter(|n| ![700, 800].contains(n)))
    );
}

#[test]
fn dropped_values_end_the_run() {
    let _watchdog = Watchdog::new();
    for taken in 0..200 {
        let pipeline = Pipeline::builder().threads(2).build().unwrap();
        let records = pipeline.records(source(lines(300))).unwrap();
        let mut values = records.map(|record| Ok::<_, std::fmt::Error>(record.number()));
        assert_eq!(values.by_ref().take(taken).count(), taken);
        drop(values);
    }
}

#[test]
fn a_missing_input_is_told_at_once() {
    let pipeline = Pipeline::builder().build().unwrap();
    let error = pipeline.records(Source::file("no such file")).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Input);
}

#[test]
fn values_are_written_in_the_dialect_or_refused() {
    let write = |format: Format, value: (&str, u32)| {
        let mut out = Vec::new();
        let pipeline = Pipeline::builder()
            .format(format.header(false))
            .build()
            .unwrap();
        let sink = Sink::writer(&mut out);
        let written = pipeline.run_each(Source::bytes(b"x\r\n"), sink, |_, out| {
            out.serialize(&value)
        });
        written.map(|_| String::from_utf8(out).unwrap())
    };
    let semicolon = || Format::csv().delimiter(b';').quote(Some(b'\''));
    assert_eq!(
        write(Format::csv(), ("a,\"b", 1)).unwrap(),
        "\"a,\"\"b\",1\r\n"
    );
    assert_eq!(write(semicolon(), ("a;'b", 1)).unwrap(), "'a;''b';1\r\n");
    assert_eq!(write(Format::tsv(), ("a b", 1)).unwrap(), "a b\t1\r\n");
    assert!(write(Format::tsv(), ("a\tb", 1)).is_err());
    assert!(write(Format::csv().doubling(false), ("a,\"b", 1)).is_err());
}
