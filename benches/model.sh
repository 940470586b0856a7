#!/usr/bin/env bash
# Measures what a run's time is made of and says what follows from it for more cores; prints two tables (Markdown):
#
#   time = max(reader, writer, (reader + work + writer) / cores)
#
# Reader and writer are the processor time, system time included, of the two threads that a run has once; work is that of all other
# threads. Each in seconds per GB (10^9 bytes) of CSV, which is read from memory and written over a file in memory.
# What it takes: Linux, bash 5, coreutils, diffutils, awk, GNU time, taskset, and the release binary.
#
#   benches/model.sh [--size BYTES] [--runs N] [--binary PATH] [--tmpfs DIR] [--quick]
#
#   --size BYTES   the file for light work; the others have a fifth and a twentieth of it [1000000000]
#   --runs N       measured rounds, of which the one with the least processor time counts [5]
#   --binary PATH  the program [target/release/inorder]
#   --tmpfs DIR    where input and output lie [/dev/shm]
#   --quick        small sizes and one round: shows that the script works, the figures mean nothing
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/benches/common.sh"
size=1000000000 runs=5 binary=$root/target/release/inorder tmpfs=/dev/shm
while (($# > 0)); do
    case $1 in
        --size) size=$2 && shift 2 ;;
        --runs) runs=$2 && shift 2 ;;
        --binary) binary=$2 && shift 2 ;;
        --tmpfs) tmpfs=$2 && shift 2 ;;
        --quick) size=20000000 runs=1 && shift ;;
        *) fail "unknown option $1 (the options stand at the top of the script)" ;;
    esac
done
need_tools

work=$(mktemp -d "$tmpfs/inorder-model.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
out=$work/out

# figure NAME: of the last run's figures
figure() { awk -F'[:,]' -v name="\"$1\"" '$1 ~ name { print $2 + 0; exit }' "$work/stats"; }

# once CORES FILE WORK: runs it on these cores; sets reader, writer, total and wall, in seconds
once() {
    local user system
    /usr/bin/time -f '%U %S' -o "$work/time" -- taskset -c "0-$(($1 - 1))" "$binary" cat -q -j "$1" --work "$3" \
        --stats "$work/stats" "$2" 1<> "$out" || fail "cat --work $3 failed"
    read -r user system < "$work/time"
    reader=$(figure reader_seconds) writer=$(figure writer_seconds) wall=$(figure seconds)
    total=$(awk -v a="$user" -v b="$system" 'BEGIN { print a + b }')
}

# least CORES FILE WORK: the run with the least processor time, and the least wall time of all
least() {
    local round best_total='' best_reader best_writer best_wall=''
    for ((round = 0; round <= runs; round++)); do
        once "$@"
        ((round > 0)) || continue
        if [[ -z $best_total ]] || awk -v a="$total" -v b="$best_total" 'BEGIN { exit !(a < b) }'; then
            best_total=$total best_reader=$reader best_writer=$writer
        fi
        if [[ -z $best_wall ]] || awk -v a="$wall" -v b="$best_wall" 'BEGIN { exit !(a < b) }'; then best_wall=$wall; fi
    done
    total=$best_total reader=$best_reader writer=$best_writer wall=$best_wall
}

heading "$binary"
cores=$(($(nproc) < 2 ? 1 : 2))
declare -A parts
checks=''
row 'work a record' 'reader' 'writer | work | speed-up on 2 cores | 8 | 16 | 64'
row --- ---: '---: | ---: | ---: | ---: | ---: | ---:'
for load in none:1 fib:15:5 fib:20:20; do
    name=${load%:*} part=${load##*:}
    flights "$work/in.csv" $((size / part))
    bytes=$(stat -c %s "$work/in.csv")
    rm -f "$out"
    least "$cores" "$work/in.csv" "$name"
    cmp -- "$work/in.csv" "$out" || fail "--work $name changed the file"
    parts[$name]="$reader $writer $total"
    awk -v name="$name" -v r="$reader" -v w="$writer" -v all="$total" -v gb="$(awk -v b="$bytes" 'BEGIN { print b / 1e9 }')" '
        function speedup(cores, time, limit) {
            time = all / cores; limit = ""
            if (r > time) { time = r; limit = " (reader)" }
            if (w > time) { time = w; limit = " (writer)" }
            return sprintf("%.1f%s", all / time, limit)
        }
        BEGIN {
            printf "| `%s` | %.3f | %.3f | %.2f | %s | %s | %s | %s |\n", name, r / gb, w / gb, (all - r - w) / gb,
                speedup(2), speedup(8), speedup(16), speedup(64)
        }'
    for ((n = 1; n <= cores; n++)); do
        least "$n" "$work/in.csv" "$name"
        checks+=$(awk -v name="$name" -v n="$n" -v p="${parts[$name]}" -v wall="$wall" 'BEGIN {
            split(p, x, " "); time = x[3] / n
            if (x[1] > time) time = x[1]
            if (x[2] > time) time = x[2]
            printf "| `%s`, %d cores | %.0f ms | %.0f ms, %+.0f %% |", name, n, time * 1000, wall * 1000, (wall / time - 1) * 100
        }')$'\n'
    done
done
printf '\n'
row 'check' predicted measured
row --- ---: ---:
printf '%s' "$checks"
