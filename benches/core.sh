#!/usr/bin/env bash
# Measures the built program on this machine and prints one table (Markdown). What it takes: Linux, bash 5, coreutils,
# diffutils, awk, GNU time, and the release binary (cargo build --release).
#
#   benches/core.sh [--size BYTES] [--runs N] [--binary PATH] [--tmpfs DIR] [--disk DIR] [--only PART[,PART]...] [--quick]
#
#   --size BYTES   the large file [1000000000]; needs about four times that in the tmpfs
#   --runs N       measured rounds; commands that are compared run in turn, round by round [9]
#   --binary PATH  the program [target/release/inorder]
#   --tmpfs DIR    where input and output lie, so that no disk is measured [/dev/shm]
#   --disk DIR     a folder for a file of ten times the size; without it that input is streamed through a pipe
#   --only PARTS   of: copy, heavy, sleep, check, memory [all]
#   --quick        small sizes and one round: shows that the script works, the figures mean nothing
#
# A time is the fewest milliseconds of all rounds. One round before them is not counted: it touches the pages of input
# and output for the first time, which can cost more than the copy itself. For the same reason output is rewritten in
# place (1<> and conv=notrunc) unless the row says "new file".
set -euo pipefail

fail() {
    printf 'core.sh: %s\n' "$*" >&2
    exit 1
}

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
size=1000000000 runs=9 binary=$root/target/release/inorder tmpfs=/dev/shm disk='' only=copy,heavy,sleep,check,memory
rows=100000 slow_lines=100 sleepers=6400 more_sleepers=25600 reader_seconds=20
while (($# > 0)); do
    case $1 in
        --size) size=$2 && shift 2 ;;
        --runs) runs=$2 && shift 2 ;;
        --binary) binary=$2 && shift 2 ;;
        --tmpfs) tmpfs=$2 && shift 2 ;;
        --disk) disk=$2 && shift 2 ;;
        --only) only=$2 && shift 2 ;;
        --quick)
            size=10000000 runs=1 rows=2000 slow_lines=4 sleepers=640 more_sleepers=2560 reader_seconds=2
            shift
            ;;
        *) fail "unknown option $1 (the options stand at the top of the script)" ;;
    esac
done
[[ -n ${EPOCHREALTIME:-} ]] || fail 'bash 5 or newer is needed'
[[ -x $binary ]] || fail "$binary is missing: run cargo build --release, or name it with --binary"
[[ -x /usr/bin/time ]] || fail 'GNU time is missing (the package is called time)'
[[ -d $tmpfs ]] || fail "$tmpfs is no folder: name a tmpfs with --tmpfs"

work=$(mktemp -d "$tmpfs/inorder-core.XXXXXX")
far=''
trap 'rm -rf -- "$work" ${far:+"$far"}' EXIT
out=$work/out

# ---- input

# flights FILE BYTES: the sample's header, then its rows over and over, to at least BYTES.
flights() {
    local sample=$root/data/flights-sample.csv
    head -n 1 "$sample" > "$1"
    tail -n +2 "$sample" > "$work/rows"
    repeat "$work/rows" "$1" "$2"
}

# quoted FILE BYTES: the same with a line break and doubled quotes in the tail number of every tenth row.
quoted() {
    local sample=$root/data/flights-sample.csv
    head -n 1 "$sample" > "$1"
    tail -n +2 "$sample" \
        | awk 'BEGIN { FS = OFS = "," } NR % 10 == 0 { $12 = "\"" $12 ",\nthe \"\"second\"\"\"" } { print }' > "$work/rows"
    repeat "$work/rows" "$1" "$2"
}

# repeat ROWS FILE BYTES: appends ROWS to FILE until it holds BYTES. ROWS is doubled on the way, so this takes few steps.
repeat() {
    local have piece
    piece=$(stat -c %s "$1")
    while ((piece * 2 <= $3 / 16)); do
        cat "$1" "$1" > "$1.twice" && mv "$1.twice" "$1"
        piece=$((piece * 2))
    done
    have=$(stat -c %s "$2")
    while ((have < $3)); do
        cat "$1" >> "$2"
        have=$((have + piece))
    done
    rm "$1"
}

# ---- timing

declare -A best

# race ROUNDS FUNCTION=INPUT...: runs the functions in turn, round by round; best[FUNCTION] is the fewest microseconds.
# The round before the first begins each with no output and compares what it wrote with INPUT, if one is named.
race() {
    local rounds=$1 round pair name input begin took
    shift
    for ((round = 0; round <= rounds; round++)); do
        for pair; do
            name=${pair%%=*} input=${pair#*=}
            if ((round == 0)); then
                rm -f "$out"
                best[$name]=''
            fi
            begin=${EPOCHREALTIME//[!0-9]/}
            "$name" || fail "$name failed"
            took=$((${EPOCHREALTIME//[!0-9]/} - begin))
            if ((round == 0)); then
                [[ -z $input ]] || cmp -- "$input" "$out" || fail "$name wrote something else than its input"
            elif [[ -z ${best[$name]} ]] || ((took < best[$name])); then
                best[$name]=$took
            fi
        done
    done
}

# row WHAT FIGURE COMPARED
row() { printf '| %s | %s | %s |\n' "$1" "$2" "$3"; }

# ms MICROSECONDS
ms() { awk -v us="$1" 'BEGIN { printf "%.1f ms", us / 1000 }'; }

# times SLOW FAST: how many times FAST goes into SLOW
times() { awk -v a="$1" -v b="$2" 'BEGIN { printf "%.2f", a / b }'; }

label() {
    case $1 in
        lines) echo lines ;;
        csv) echo CSV ;;
        csv_read) echo 'CSV, --no-mmap' ;;
        csv_sequential) echo 'CSV, --sequential' ;;
        quoted) echo 'CSV, quotes in every tenth row' ;;
    esac
}

wanted() { [[ ,$only, == *,$1,* ]]; }

# ---- parts

copy_dd() { dd if="$work/flights" of="$out" bs=1M conv=notrunc status=none; }
copy_dd_new() { rm -f "$out" && dd if="$work/flights" of="$out" bs=1M status=none; }
copy_lines() { "$binary" cat -q --from lines "$work/flights" 1<> "$out"; }
copy_csv() { "$binary" cat -q --from csv "$work/flights" 1<> "$out"; }
copy_csv_read() { "$binary" cat -q --from csv --no-mmap "$work/flights" 1<> "$out"; }
copy_csv_new() { "$binary" cat -q --from csv "$work/flights" -o "$out"; }
copy_csv_sequential() { "$binary" cat -q --from csv --sequential "$work/flights" 1<> "$out"; }
copy_quoted() { "$binary" cat -q --from csv "$work/quoted" 1<> "$out"; }

copy() {
    local name new=$work/flights
    race "$runs" copy_dd="$new" copy_lines="$new" copy_csv="$new" copy_csv_read="$new" copy_csv_sequential="$new" \
        copy_quoted="$work/quoted"
    row "\`dd bs=1M\`" "$(ms "${best[copy_dd]}")" ''
    for name in lines csv csv_read csv_sequential quoted; do
        row "\`cat --work none\`, $(label "$name")" "$(ms "${best[copy_$name]}")" \
            "$(times "${best[copy_$name]}" "${best[copy_dd]}") × the time of dd"
    done
    race "$runs" copy_dd_new="$new" copy_csv_new="$new"
    row "\`dd bs=1M\`, new file" "$(ms "${best[copy_dd_new]}")" ''
    row "\`cat --work none -o\`, CSV, new file" "$(ms "${best[copy_csv_new]}")" \
        "$(times "${best[copy_csv_new]}" "${best[copy_dd_new]}") × the time of dd"
}

heavy_sequential() { "$binary" cat -q --work fib:20 --sequential --from csv "$work/some" > "$out"; }
heavy_parallel() { "$binary" cat -q --work fib:20 -j 2 --from csv "$work/some" > "$out"; }
few_sequential() { "$binary" cat -q --work fib:32 --sequential --from lines "$work/few" > "$out"; }
few_parallel() { "$binary" cat -q --work fib:32 -j 2 --from lines "$work/few" > "$out"; }

heavy() {
    head -n "$((rows + 1))" "$work/flights" > "$work/some"
    head -n "$slow_lines" "$work/flights" > "$work/few"
    race "$runs" heavy_sequential="$work/some" heavy_parallel="$work/some"
    row "fib:20 on $rows rows, sequential" "$(ms "${best[heavy_sequential]}")" ''
    row "fib:20 on $rows rows, 2 threads" "$(ms "${best[heavy_parallel]}")" \
        "$(times "${best[heavy_sequential]}" "${best[heavy_parallel]}") × as fast"
    race "$runs" few_sequential="$work/few" few_parallel="$work/few"
    row "fib:32 on $slow_lines lines, sequential" "$(ms "${best[few_sequential]}")" ''
    row "fib:32 on $slow_lines lines, 2 threads" "$(ms "${best[few_parallel]}")" \
        "$(times "${best[few_sequential]}" "${best[few_parallel]}") × as fast"
}

sleep_64() { "$binary" cat -q --work sleep:10ms -j 64 --from lines "$work/sleepers" > "$out"; }
sleep_256() { "$binary" cat -q --work sleep:10ms -j 256 --from lines "$work/sleepers" > "$out"; }

sleeping() {
    local threads lines
    for threads in 64 256; do
        lines=$sleepers
        ((threads == 64)) || lines=$more_sleepers
        seq "$lines" > "$work/sleepers"
        race "$runs" "sleep_$threads=$work/sleepers"
        row "sleep:10ms on $lines lines, $threads threads" "$(ms "${best[sleep_$threads]}")" \
            "at best $((lines / threads * 10)) ms"
    done
}

check_lines() { "$binary" check -q --from lines "$work/flights" > /dev/null; }
check_csv() { "$binary" check -q --from csv "$work/flights" > /dev/null; }
check_quoted() { "$binary" check -q --from csv "$work/quoted" > /dev/null; }
check_small() { "$binary" check -q --from csv "$work/small" > /dev/null; }
plain_true() { "$true"; }

check() {
    local name bytes
    true=$(type -P true)
    race "$runs" check_lines= check_csv= check_quoted=
    for name in lines csv quoted; do
        bytes=$(stat -c %s "$work/$([[ $name == quoted ]] && echo quoted || echo flights)")
        row "\`check\`, $(label "$name")" "$(ms "${best[check_$name]}")" \
            "$(awk -v b="$bytes" -v us="${best[check_$name]}" 'BEGIN { printf "%.2f GB/s", b / us / 1000 }')"
    done
    head -c 1000 "$work/flights" | sed '$d' > "$work/small"
    race $((runs * 5)) check_small= plain_true=
    row "\`check\` on a file of 1 KB" "$(ms "${best[check_small]}")" \
        "$(ms $((best[check_small] - best[plain_true]))) more than \`true\`"
}

# peak WHAT COMMAND...: runs it, its output thrown away; the row's figure is the most resident memory
peak() {
    local what=$1
    shift
    /usr/bin/time -f %M -o "$work/peak" -- "$@" > /dev/null || fail "failed: $*"
    row "peak memory, $what" "$(mib)" ''
}

mib() { awk 'END { printf "%.1f MiB", $1 / 1024 }' "$work/peak"; }

# stream TIMES: the large file that many times, on standard output
stream() {
    local i
    for ((i = 0; i < $1; i++)); do cat "$work/flights"; done
}

# slow_reader: takes a megabyte a second, then goes away
slow_reader() {
    local i
    for ((i = 0; i < reader_seconds * 10; i++)); do
        head -c 100000 > /dev/null
        sleep 0.1
    done
}

memory() {
    local memory options tenth=$((size / 10))
    flights "$work/tenth" "$tenth"
    if [[ -n $disk ]]; then
        far=$(mktemp "$disk/inorder-core.XXXXXX")
        flights "$far" $((size * 10))
    fi
    for memory in default 16MiB; do
        options=(-q --from csv)
        [[ $memory == default ]] || options+=(--memory "$memory")
        peak "--memory $memory, $tenth bytes" "$binary" cat "${options[@]}" "$work/tenth"
        peak "--memory $memory, $size bytes" "$binary" cat "${options[@]}" "$work/flights"
        if [[ -n $disk ]]; then
            peak "--memory $memory, $((size * 10)) bytes" "$binary" cat "${options[@]}" "$far"
        fi
        stream 10 | peak "--memory $memory, $((size * 10)) bytes from a pipe" "$binary" cat "${options[@]}"
        /usr/bin/time -f %M -o "$work/peak" -- "$binary" cat "${options[@]}" "$work/flights" | slow_reader \
            || fail 'the run with a slow reader failed'
        row "peak memory, --memory $memory, the reader of standard output takes 1 MB/s" "$(mib)" ''
    done
    confined
}

# confined: --memory 16MiB in a control group of 64 MiB, where this user may make one
confined() {
    local group='' limit='' what="in a memory control group of 64 MiB, --memory 16MiB, $((size * 4)) bytes from a pipe"
    if [[ -w /sys/fs/cgroup/cgroup.procs ]]; then
        group=/sys/fs/cgroup limit=memory.max
    elif [[ -w /sys/fs/cgroup/memory/cgroup.procs ]]; then
        group=/sys/fs/cgroup/memory limit=memory.limit_in_bytes
    fi
    group=${group:+$group/inorder-core.$$}
    if [[ -z $group ]] || ! mkdir "$group" 2> /dev/null; then
        row "$what" 'not measured' 'no right to make a control group'
        return
    fi
    if echo $((64 << 20)) 2> /dev/null > "$group/$limit"; then
        stream 4 | (
            echo "$BASHPID" > "$group/cgroup.procs"
            exec "$binary" cat -q --from csv --memory 16MiB > /dev/null
        ) || fail 'the run in a control group of 64 MiB failed'
        row "$what" 'done' ''
    else
        row "$what" 'not measured' 'control groups here do not limit memory'
    fi
    rmdir "$group"
}

# ---- the table

machine() {
    awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo | grep . || uname -m
}

flights "$work/flights" "$size"
quoted "$work/quoted" "$size"

printf '%s, on %s, %s cores, %s MiB of memory, Linux %s, %s\n\n' "$("$binary" --version)" "$(machine)" "$(nproc)" \
    "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" "$(uname -r)" "$(date -u +%F)"
printf 'Files of %s bytes in %s; the fewest milliseconds of %s rounds.\n\n' "$size" "$tmpfs" "$runs"
row what figure compared
row --- ---: ---
if wanted copy; then copy; fi
if wanted heavy; then heavy; fi
if wanted sleep; then sleeping; fi
if wanted check; then check; fi
if wanted memory; then memory; fi
