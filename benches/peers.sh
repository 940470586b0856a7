#!/usr/bin/env bash
# Measures the built program beside the tools that people use today, as far as they are installed, and prints one table
# (Markdown). What it takes: Linux, bash 5, coreutils, diffutils, awk, GNU time, and the release binary.
# The peers: dd, grep, GNU parallel, jq, mlr (miller), python3, pigz, zstd from the distribution; jaq and xan by
# `cargo install jaq xan`. A peer that is missing has no row.
#
#   benches/peers.sh [--input CSV] [--size BYTES] [--runs N] [--binary PATH] [--tmpfs DIR] [--only PART[,PART]...] [--quick]
#
#   --input CSV    a CSV file with the columns of data/flights-sample.csv and no quotes; without it the sample's rows are
#                  repeated to 31 MB
#   --size BYTES   the large file, made of the input's rows [1000000000]
#   --runs N       measured rounds; commands that are compared run in turn, round by round [9]
#   --binary PATH  the program [target/release/inorder]
#   --tmpfs DIR    where input and output lie, so that no disk is measured [/dev/shm]
#   --only PARTS   of: json, filter, grep, python, gzip [all]
#   --quick        small sizes and one round: shows that the script works, the figures mean nothing
#
# A time is the fewest milliseconds of all rounds, after one that is not counted. What each command writes in that first
# round is compared with what the first command of its group writes.
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/benches/common.sh"
input='' size=1000000000 runs=9 binary=$root/target/release/inorder tmpfs=/dev/shm only=json,filter,grep,python,gzip
small=31000000
while (($# > 0)); do
    case $1 in
        --input) input=$2 && shift 2 ;;
        --size) size=$2 && shift 2 ;;
        --runs) runs=$2 && shift 2 ;;
        --binary) binary=$2 && shift 2 ;;
        --tmpfs) tmpfs=$2 && shift 2 ;;
        --only) only=$2 && shift 2 ;;
        --quick) size=8000000 small=1000000 runs=1 && shift ;;
        *) fail "unknown option $1 (the options stand at the top of the script)" ;;
    esac
done
need_tools

work=$(mktemp -d "$tmpfs/inorder-peers.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
out=$work/out

has() { type -P "$1" > /dev/null; }

# contest TITLE FUNCTION...: races them against the first one. A function is NAME_TOOL; it takes part if TOOL is ours or
# installed, and is shown as described by what_FUNCTION.
contest() {
    local title=$1 function tool entrants=() ours reference=$work/reference
    shift
    for function; do
        tool=${function##*_}
        tool=${tool%%[0-9]*}
        if [[ $tool == ours ]] || has "$tool"; then entrants+=("$function=$reference"); fi
    done
    ours=$1
    rm -f "$out"
    "$ours" || fail "$ours failed"
    mv "$out" "$reference"
    race "$runs" "${entrants[@]}"
    for function in "${entrants[@]%%=*}"; do
        row "$title: \`${what[$function]}\`" "$(ms "${best[$function]}")" \
            "$([[ $function == "$ours" ]] || printf '%s × our time' "$(times "${best[$function]}" "${best[$ours]}")")"
    done
}

declare -A what

# ---- a jq filter on NDJSON

late='select(.dep_delay != "NA" and .dep_delay > 60) | {carrier,flight,dep_delay}'
what[json_ours]='inorder map' what[json_jaq]='jaq -c' what[json_jq]='jq -c' what[json_ours1]='inorder map -j 1'
json_ours() { "$binary" map -q "$late" "$work/flights.ndjson" > "$out"; }
json_ours1() { "$binary" map -q -j 1 "$late" "$work/flights.ndjson" > "$out"; }
json_jaq() { jaq -c "$late" "$work/flights.ndjson" > "$out"; }
json_jq() { jq -c "$late" "$work/flights.ndjson" > "$out"; }

json() {
    "$binary" map -q . "$work/flights.csv" -o "$work/flights.ndjson"
    contest 'filter NDJSON' json_ours json_ours1 json_jaq json_jq
    peak 'inorder map on NDJSON' "$binary" map -q "$late" "$work/flights.ndjson"
}

# ---- a filter on CSV

what[filter_ours]='inorder map' what[filter_mlr]='mlr --csv filter' what[filter_xan]='xan filter'
filter_ours() { "$binary" map -q 'select(.carrier == "UA")' "$work/flights.csv" > "$out"; }
filter_mlr() { mlr --csv filter '$carrier == "UA"' "$work/flights.csv" > "$out"; }
filter_xan() { xan filter 'carrier eq "UA"' "$work/flights.csv" > "$out"; }

filter() { contest 'filter CSV' filter_ours filter_mlr filter_xan; }

# ---- a Unix command on a large file

what[grep_ours]='inorder exec --header keep -- grep -v UA' what[grep_grep]='grep -v UA'
what[grep_parallel10]='parallel --pipepart -k --block 10M' what[grep_parallel1]='parallel --pipepart -k --block 1M'
grep_ours() { "$binary" exec -q "$work/large.csv" --header keep -o "$out" -- grep -v UA; }
grep_grep() { grep -v UA "$work/large.csv" > "$out"; }
grep_parallel10() { parallel --pipepart -a "$work/large.csv" -k --block 10M grep -v UA > "$out"; }
grep_parallel1() { parallel --pipepart -a "$work/large.csv" -k --block 1M grep -v UA > "$out"; }

large() {
    [[ -e $work/large.csv ]] && return
    head -n 1 "$work/flights.csv" > "$work/large.csv"
    tail -n +2 "$work/flights.csv" > "$work/rows"
    repeat "$work/rows" "$work/large.csv" "$size"
}

grepping() {
    large
    contest 'grep on a large CSV' grep_ours grep_grep grep_parallel10 grep_parallel1
}

# ---- a script that reads the csv module's rows

what[python_ours]='inorder exec -- python3 script.py' what[python_python3]='python3 script.py'
python_ours() { "$binary" exec -q "$work/quoted.csv" -o "$out" -- python3 "$work/script.py"; }
python_python3() { python3 "$work/script.py" < "$work/quoted.csv" > "$out"; }

python() {
    has python3 || return 0
    quoted "$work/quoted.csv" $((size / 4))
    cat > "$work/script.py" << 'END'
import csv, sys
rows = csv.reader(sys.stdin)
out = csv.writer(sys.stdout, lineterminator="\n")
header = next(rows, None)
if header:
    out.writerow(header + ["speed"])
place = {name: index for index, name in enumerate(header or [])}
for row in rows:
    distance, time = row[place["distance"]], row[place["air_time"]]
    out.writerow(row + ["" if time in ("", "NA") else round(float(distance) / float(time) * 60, 1)])
END
    contest 'add a column to a quoted CSV' python_ours python_python3
}

# ---- gzip to gzip

what[gzip_ours]='inorder cat' what[gzip_pigz]='pigz -dc | pigz -p 1' what[gzip_pigz2]='pigz -dc | pigz -p 2'
gzip_ours() { "$binary" cat -q "$work/large.csv.gz" -o "$work/new.csv.gz" && printf '' > "$out"; }
gzip_pigz() { pigz -dc "$work/large.csv.gz" | pigz -p 1 > "$work/new.csv.gz" && printf '' > "$out"; }
gzip_pigz2() { pigz -dc "$work/large.csv.gz" | pigz -p 2 > "$work/new.csv.gz" && printf '' > "$out"; }

gzipping() {
    has pigz || return 0
    large
    pigz -c "$work/large.csv" > "$work/large.csv.gz"
    contest 'gzip to gzip' gzip_ours gzip_pigz gzip_pigz2
    gzip_ours
    pigz -dc "$work/new.csv.gz" | cmp - "$work/large.csv" || fail 'gzip to gzip gave other bytes'
}

# ---- the table

if [[ -n $input ]]; then
    cp -- "$input" "$work/flights.csv"
else
    flights "$work/flights.csv" "$small"
fi

heading "$binary"
printf 'Small files of %s bytes, large ones of %s, in %s; the fewest milliseconds of %s rounds.\n\n' \
    "$(stat -c %s "$work/flights.csv")" "$size" "$tmpfs" "$runs"
row what time compared
row --- ---: ---
if wanted json; then json; fi
if wanted filter; then filter; fi
if wanted grep; then grepping; fi
if wanted python; then python; fi
if wanted gzip; then gzipping; fi
