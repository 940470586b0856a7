//! What others write for the same filters: jq, where it is installed, and a script.

use crate::testenv::TestEnv;

/// Filters on flights for which jq writes the same bytes.
const ORDINARY: &[&str] = &[
    ".",
    "select(.dep_delay != \"NA\" and .dep_delay > 60) | {carrier,flight,dep_delay}",
    "{carrier, n: (.flight + 1), half: (.distance / 2), third: (.distance / 3)}",
    ".hour * 60 + .minute",
    "[.origin, .dest] | join(\"-\")",
    "\"\\(.carrier)\\(.flight): \\(.origin) to \\(.dest)\"",
    "del(.year, .month, .day)",
    "to_entries | map(select(.value | type == \"number\")) | from_entries",
    "with_entries(.value |= tostring)",
    "keys, length, (.tailnum | ascii_downcase | length)",
    "if .dep_delay == \"NA\" then empty elif .dep_delay > 0 then \"late\" else \"early\" end",
    ".time_hour | sub(\"T\"; \" \") | rtrimstr(\"Z\")",
    ".time_hour | split(\"T\") | .[0]",
    "[.[] | numbers] | add, min, max, (sort | .[0:3])",
    ".dep_delay? // \"none\"",
    "[paths] | length",
    "map_values(if type == \"number\" then . * 1.5 else . end)",
    "[.distance, .air_time] | @csv, @tsv, @json, @html, @sh, @base64, @uri",
    ".time_hour | fromdateiso8601 | todate",
    "reduce (.[] | strings) as $s (\"\"; . + $s) | test(\"EWR\"; \"i\")",
    "[limit(3; .[])] | {first: .[0], last: .[-1]}",
    "[.flight, .hour] | map(. % 7) | unique | group_by(. > 3)",
    ".tailnum |= ltrimstr(\"N\") | .x = null | .y += 1",
    "[.[] | tojson | fromjson] | length",
    "def f(x): x * 2; f(.distance) | floor, sqrt, pow(.; 0.5)",
    "try error(\"x\") catch .",
    "input_filename",
];

#[test]
fn ordinary_filters_give_the_bytes_of_jq() {
    let env = TestEnv::new();
    if !env.can("jq", "jq --version") {
        return;
    }
    env.run("inorder map . data/flights-sample.csv --limit 300 -o flights.ndjson")
        .quiet();
    for filter in ORDINARY {
        env.write("f.jq", filter);
        env.run("jq -c -f f.jq flights.ndjson > theirs; inorder map -f f.jq flights.ndjson -o ours && cmp theirs ours")
            .status(0);
        env.run("jq -rc -f f.jq flights.ndjson > theirs; inorder map -rf f.jq flights.ndjson -o ours && cmp theirs ours")
            .status(0);
    }
}

#[test]
fn late_flights_are_those_of_a_script() {
    let env = TestEnv::new();
    if !env.can("python3", "python3 --version") {
        return;
    }
    env.write(
        "late.py",
        "import sys\n\
         lines = open('data/flights-sample.csv').read().splitlines(keepends=True)\n\
         column = lines[0].split(',').index('dep_delay')\n\
         late = [row for row in lines[1:] if row.split(',')[column] != 'NA' and float(row.split(',')[column]) > 60]\n\
         sys.stdout.write(lines[0] + ''.join(late))\n",
    );
    env.run(
        "inorder map 'select((.dep_delay | numbers) > 60)' data/flights-sample.csv -o ours && python3 late.py | cmp - ours
         inorder map 'select(.carrier == \"UA\")' data/flights-sample.csv -o ours
         { head -1 data/flights-sample.csv; grep ',UA,' data/flights-sample.csv; } | cmp - ours",
    )
    .quiet();
}
