//! How the output is written: ends, another format, what stands before the first record and after the last one.

use inorder::{
    BoxError, Buffer, Builder, Commit, Committed, Format, Pipeline, Preamble, Process, Record,
    RunState, Sink, Source,
};

/// What a closure writes, sequentially and in parallel.
#[track_caller]
fn written(
    builder: &Builder,
    input: &[u8],
    work: impl Fn(&Record<'_>, &mut Buffer) + Sync,
) -> String {
    let run = |sequential| {
        let builder = builder.clone().sequential(sequential).threads(2);
        let mut out = Vec::new();
        let pipeline = builder.chunk_size(1).build().unwrap();
        let source = Source::bytes(input);
        pipeline
            .run_each(source, Sink::writer(&mut out), &work)
            .unwrap();
        String::from_utf8(out).unwrap()
    };
    let twin = run(true);
    assert_eq!(run(false), twin);
    twin
}

#[test]
fn several_lines_for_a_record_without_an_end_are_not_glued_together() {
    let lines = Pipeline::builder();
    let twice = |record: &Record<'_>, out: &mut Buffer| {
        out.line(record.bytes());
        out.line(record.bytes());
    };
    assert_eq!(written(&lines, b"a\r\nb", twice), "a\r\na\r\nb\nb");
    let kept = |record: &Record<'_>, out: &mut Buffer| {
        out.keep(record);
        out.keep(record);
        out.line(b"-");
    };
    assert_eq!(written(&lines, b"a\nb", kept), "a\na\n-\nb\nb\n-");
    let nul = Pipeline::builder().format(Format::nul());
    assert_eq!(written(&nul, b"a\0b", twice), "a\0a\0b\0b");
    let csv = Pipeline::builder().format(Format::csv().header(false));
    let rows = |record: &Record<'_>, out: &mut Buffer| {
        out.row(record.fields()).unwrap();
        out.serialize(&("x", 1)).unwrap();
    };
    assert_eq!(
        written(&csv, b"a,\"b\"\r\nc,d", rows),
        "a,b\r\nx,1\r\nc,d\nx,1"
    );
}

#[test]
fn a_row_that_cannot_be_written_leaves_nothing_of_itself() {
    let tsv = Pipeline::builder().output_format(Format::tsv());
    let work = |record: &Record<'_>, out: &mut Buffer| {
        out.line(record.bytes());
        assert!(out.row(["a\tb"]).is_err());
        out.line(b"-");
    };
    assert_eq!(written(&tsv, b"x", work), "x\n-");
}

#[test]
fn another_output_format_has_its_own_dialect_and_ends() {
    let csv = |to| {
        let csv = Format::csv().header(false);
        Pipeline::builder().format(csv).output_format(to)
    };
    let input = b"a,\"b,\tc\"\rd,e\r\nf,g\n";
    let rows = |record: &Record<'_>, out: &mut Buffer| out.row(record.fields()).unwrap();
    let semicolons = Format::csv().delimiter(b';');
    assert_eq!(
        written(&csv(semicolons), input, rows),
        "a;b,\tc\rd;e\r\nf;g\n"
    );
    let lines = |record: &Record<'_>, out: &mut Buffer| {
        out.line(&record.fields().next().unwrap());
    };
    assert_eq!(written(&csv(Format::ndjson()), input, lines), "a\nd\r\nf\n");
    assert_eq!(written(&csv(Format::nul()), input, lines), "a\0d\0f\0");
    let nul = Pipeline::builder().format(Format::nul());
    let nul = nul.output_format(Format::lines());
    assert_eq!(written(&nul, b"a\0b", lines), "a\nb");
}

#[test]
fn an_output_format_is_checked() {
    let semicolons = Format::csv().delimiter(b'"');
    let built = Pipeline::builder().output_format(semicolons).build();
    assert_eq!(built.unwrap_err().kind(), inorder::ErrorKind::Config);
}

#[test]
fn what_stands_before_the_records() {
    let input = b"\xEF\xBB\xBFa,b\n\n1,2\n";
    let keep = |record: &Record<'_>, out: &mut Buffer| out.keep(record);
    let builder = Pipeline::builder().format(Format::csv()).blank_lines(false);
    for (preamble, wanted) in [
        (Preamble::Keep, "\u{feff}a,b\n1,2\n"),
        (Preamble::Mark, "\u{feff}a,b\n1,2\n"),
        (Preamble::Drop, "a,b\n1,2\n"),
    ] {
        let builder = builder.clone().preamble(preamble);
        assert_eq!(written(&builder, input, keep), wanted);
    }
    let skipping = builder.skip_lines(1);
    for (preamble, wanted) in [
        (Preamble::Keep, "top\n\na\n1\n"),
        (Preamble::Mark, "a\n1\n"),
        (Preamble::Drop, "a\n1\n"),
    ] {
        let builder = skipping.clone().preamble(preamble);
        assert_eq!(written(&builder, b"top\n\na\n1\n", keep), wanted);
    }
}

/// Counts the records in order and writes the number at the end.
struct Counts;

impl Process for Counts {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        match record.bytes() {
            b"bad" => Err("bad".into()),
            _ => Ok(()),
        }
        .inspect(|()| out.keep(record))
    }

    fn commit(&self, run: &mut RunState, chunk: &Committed<'_>) -> Commit {
        let before: u64 = std::str::from_utf8(run.get()).unwrap().parse().unwrap_or(0);
        run.set((before + chunk.processed).to_string());
        Commit::Write
    }

    fn finish(&self, run: &RunState, out: &mut Buffer) -> Result<(), BoxError> {
        out.line(run.get());
        Ok(())
    }
}

#[test]
fn the_end_is_written_once_and_only_by_a_run_that_comes_to_it() {
    for sequential in [true, false] {
        let run = |input: &[u8]| {
            let builder = Pipeline::builder().sequential(sequential).chunk_size(1);
            let mut out = Vec::new();
            let result =
                builder
                    .build()
                    .unwrap()
                    .run(Source::bytes(input), Sink::writer(&mut out), &Counts);
            (
                result.map(|summary| summary.bytes_out),
                String::from_utf8(out).unwrap(),
            )
        };
        let (bytes, out) = run(b"a\nb\n");
        assert_eq!((bytes.unwrap(), out.as_str()), (6, "a\nb\n2\n"));
        assert_eq!(run(b"").1, "\n");
        let (failed, out) = run(b"a\nbad\n");
        assert!(failed.is_err());
        assert_eq!(out, "a\n");
    }
}
