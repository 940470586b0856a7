use super::*;
use crate::cli::args::{Cli, Command};
use clap::Parser;

fn cat(line: &str) -> anyhow::Result<CatPlan> {
    match Cli::try_parse_from(line.split(' ')).unwrap().command {
        Command::Cat(args) => CatPlan::new(args),
        _ => panic!("{line}"),
    }
}

/// The plan of a line of words.
pub fn cat_plan(line: &str) -> Plan {
    cat(line).unwrap().plan
}

#[test]
fn the_first_input_decides_the_format() {
    let format = |line| cat(line).unwrap().plan.format;
    assert_eq!(format("inorder cat a.csv b.tsv -o out"), Format::csv());
    assert_eq!(format("inorder cat - b.csv -o out"), Format::lines());
    assert_eq!(format("inorder cat -o out"), Format::lines());
    assert_eq!(format("inorder cat --from tsv a.csv -o out"), Format::tsv());
}

#[test]
fn dialects() {
    let format = |line| cat(line).unwrap().plan.format;
    assert_eq!(
        format("inorder cat -d ; --quote ' --no-header a.csv -o out"),
        Format::csv()
            .delimiter(b';')
            .quote(Some(b'\''))
            .header(false)
    );
    assert_eq!(
        format("inorder cat --no-quoting a.csv -o out"),
        Format::csv().quote(None)
    );
    assert_eq!(
        format("inorder cat --quote \" a.tsv -o out"),
        Format::tsv().quote(Some(b'"'))
    );
    assert!(cat("inorder cat -d ; a.txt -o out").is_err());
}

#[test]
fn the_name_of_the_output_decides_its_compression() {
    let compress = |line| cat(line).map(|cat| cat.plan.compress);
    let gzip = Some(Compress::gzip());
    assert_eq!(compress("inorder cat a -o b.csv.GZ").unwrap(), gzip);
    assert_eq!(
        compress("inorder cat a -o b --compress gzip").unwrap(),
        gzip
    );
    assert_eq!(
        compress("inorder cat a -o b.gz --compress none").unwrap(),
        None
    );
    assert_eq!(compress("inorder cat a.gz -o b").unwrap(), None);
    assert_eq!(
        compress("inorder cat a -o b.zst --level 9").unwrap(),
        Compress::zstd().level(9).ok()
    );
    for line in [
        "inorder cat a -o b.xz",
        "inorder cat a -o b --level 3",
        "inorder cat a -o b.gz --level 13",
    ] {
        assert!(compress(line).is_err(), "{line}");
    }
}

#[test]
fn names_of_standard_streams() {
    let plan = cat("inorder cat - a -o /dev/stdout --stats s.json").unwrap();
    assert_eq!(plan.output, OutputName::Stdout);
    assert_eq!(plan.plan.inputs[0], InputName::Stdin);
    assert!(cat("inorder cat - - -o out").is_err());
    assert!(cat("inorder cat a --stats -").is_err());
    assert!(cat("inorder cat a -o out --stats -").is_ok());
    assert!(cat("inorder cat a -o out --stats out").is_err());
}
