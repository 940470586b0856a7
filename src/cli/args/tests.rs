use std::path::PathBuf;
use std::time::Duration;

use inorder::Encoding;

use super::*;
use crate::cli::work::Work;
use clap::CommandFactory;
use clap::error::ErrorKind;

fn parse(line: &str) -> Result<Command, clap::Error> {
    Cli::try_parse_from(line.split(' ')).map(|cli| cli.command)
}

fn cat(line: &str) -> CatArgs {
    match parse(line) {
        Ok(Command::Cat(args)) => args,
        other => panic!("{line}: {other:?}"),
    }
}

#[test]
fn the_definition_is_sound() {
    Cli::command().debug_assert();
}

#[test]
fn defaults() {
    let args = cat("inorder cat");
    assert!(args.input.inputs.is_empty());
    assert_eq!(args.output.output, PathBuf::from("-"));
    assert_eq!(args.failures.on_error, None);
    assert_eq!(
        (args.failures.retries, args.failures.max_failing_runs),
        (0, 64)
    );
    assert_eq!(args.work, Work::default());
    assert_eq!(
        (args.run.threads, args.run.memory, args.run.records),
        (0, None, None)
    );
    assert_eq!(args.show.progress, ProgressArg::Auto);
}

#[test]
fn all_options_of_cat() {
    let args = cat(
        "inorder simulate a.csv - b.csv -o out --from tsv -d \\t --quote ' --no-headers --skip-lines 2 --limit 9 \
         --no-mmap --decompress none --decoder-memory 1G --encoding utf-16 --output-encoding latin1 --no-output-header --compress gzip --level 9 --on-error skip --max-errors 7 --retries 3 --retry-delay 2s --max-failing-runs 0 --work fib:1..5,sleep:1ms -j 64 --memory 16MiB -N 5 \
         --chunk-size 64k --max-record-size 1M --sequential --progress always --stats s.json",
    );
    assert_eq!(
        args.input.inputs,
        ["a.csv", "-", "b.csv"].map(PathBuf::from)
    );
    assert_eq!(args.input.from, Some(FormatArg::Tsv));
    assert_eq!(
        (args.input.dialect.delimiter, args.input.dialect.quote),
        (Some(b'\t'), Some(b'\''))
    );
    assert!(args.input.no_header && args.input.no_mmap && args.output.no_output_header);
    assert_eq!((args.input.skip_lines, args.input.limit), (2, Some(9)));
    assert_eq!(args.input.decompress, DecompressArg::None);
    assert_eq!(args.input.encoding, Encoding::for_label("UTF-16LE"));
    assert_eq!(
        args.output.output_encoding,
        Encoding::for_label("windows-1252")
    );
    assert_eq!(args.input.decoder_memory, Some(1 << 30));
    assert_eq!(args.failures.on_error, Some(OnErrorArg::Skip));
    assert_eq!(args.failures.max_errors, Some(7));
    assert_eq!(args.failures.retries, 3);
    assert_eq!(args.failures.retry_delay, Duration::from_secs(2));
    assert_eq!(args.run.threads, 64);
    assert_eq!(args.run.memory, Some(16 << 20));
    assert_eq!(
        (args.run.records, args.run.chunk_size),
        (Some(5), Some(64 << 10))
    );
    assert_eq!(args.run.max_record_size, Some(1 << 20));
    assert!(args.run.sequential);
    assert_eq!(
        (args.output.compress, args.output.level),
        (CompressArg::Gzip, Some(9))
    );
    assert_eq!(args.show.progress, ProgressArg::Always);
}

#[test]
fn odd_but_right() {
    assert_eq!(
        cat("inorder cat -d - x").input.dialect.delimiter,
        Some(b'-')
    );
    assert_eq!(cat("inorder cat -d, x").input.dialect.delimiter, Some(b','));
    assert_eq!(cat("inorder cat -- -f").input.inputs, [PathBuf::from("-f")]);
    assert_eq!(cat("inorder cat -q").show.progress, ProgressArg::Never);
    assert_eq!(
        cat("inorder cat -q --progress always").show.progress,
        ProgressArg::Always
    );
}

#[test]
fn what_is_refused() {
    for line in [
        "inorder cat --from xml",
        "inorder cat -d ab",
        "inorder cat --quote \" --no-quoting",
        "inorder cat -N 0",
        "inorder cat --memory lots",
        "inorder cat --work fib:x",
        "inorder cat --on-error reject,skip",
        "inorder cat --retry-delay x",
        "inorder cat --files0-from names x.csv",
        "inorder cat --encoding utf-99",
        "inorder cat --encoding replacement",
        "inorder cat --nonsense",
        "inorder check -o out",
        "inorder nonsense",
    ] {
        assert_eq!(parse(line).unwrap_err().exit_code(), 2, "{line}");
    }
    assert_eq!(
        parse("inorder --help").unwrap_err().kind(),
        ErrorKind::DisplayHelp
    );
}
