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
#   --only PARTS   of: copy, heavy, sleep, check, small, memory [all]
#   --quick        small sizes and one round: shows that the script works, the figures mean nothing
#
# A time is the fewest milliseconds of all rounds. One round before them is not counted: it touches the pages of input
# and output for the first time, which can cost more than the copy itself. For the same reason output is rewritten in
# place (1<> and conv=notrunc) unless the row says "new file".
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
. "$root/benches/common.sh"
size=1000000000 runs=9 binary=$root/target/release/inorder tmpfs=/dev/shm disk='' only=copy,heavy,sleep,check,small,memory
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
need_tools

work=$(mktemp -d "$tmpfs/inorder-core.XXXXXX")
far=''
trap 'rm -rf -- "$work" ${far:+"$far"}' EXIT
out=$work/out

label() {
    case $1 in
        lines) echo lines ;;
        csv) echo CSV ;;
        csv_read) echo 'CSV, --no-mmap' ;;
        csv_sequential) echo 'CSV, --sequential' ;;
        quoted) echo 'CSV, quotes in every tenth row' ;;
    esac
}

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

heavy_plain() { "$binary" plain-loop -q --work fib:20 --from csv "$work/some" > "$out"; }
heavy_sequential() { "$binary" cat -q --work fib:20 --sequential --from csv "$work/some" > "$out"; }
heavy_parallel() { "$binary" cat -q --work fib:20 -j 2 --from csv "$work/some" > "$out"; }
few_sequential() { "$binary" cat -q --work fib:32 --sequential --from lines "$work/few" > "$out"; }
few_parallel() { "$binary" cat -q --work fib:32 -j 2 --from lines "$work/few" > "$out"; }

heavy() {
    head -n "$((rows + 1))" "$work/flights" > "$work/some"
    head -n "$slow_lines" "$work/flights" > "$work/few"
    race "$runs" heavy_plain="$work/some" heavy_sequential="$work/some" heavy_parallel="$work/some"
    row "fib:20 on $rows rows, the plain loop of \`bench\`" "$(ms "${best[heavy_plain]}")" ''
    row "fib:20 on $rows rows, sequential" "$(ms "${best[heavy_sequential]}")" ''
    row "fib:20 on $rows rows, 2 threads" "$(ms "${best[heavy_parallel]}")" \
        "$(times "${best[heavy_sequential]}" "${best[heavy_parallel]}") × as fast, $(times "${best[heavy_plain]}" "${best[heavy_parallel]}") × the plain loop"
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

check() {
    local name bytes
    race "$runs" check_lines= check_csv= check_quoted=
    for name in lines csv quoted; do
        bytes=$(stat -c %s "$work/$([[ $name == quoted ]] && echo quoted || echo flights)")
        row "\`check\`, $(label "$name")" "$(ms "${best[check_$name]}")" \
            "$(awk -v b="$bytes" -v us="${best[check_$name]}" 'BEGIN { printf "%.2f GB/s", b / us / 1000 }')"
    done
}

start_true() { "$true"; }
start_version() { "$binary" --version > /dev/null; }
small_check() { "$binary" check -q --from csv "$work/small" > /dev/null; }
small_cat() { "$binary" cat -q --from csv "$work/small" > "$out"; }
small_sequential() { "$binary" cat -q --sequential --from csv "$work/small" > "$out"; }

# more FUNCTION: than starting a program that does nothing
more() { ms $((best[$1] - best[start_true])); }

small() {
    local bytes
    true=$(type -P true)
    for bytes in 1000 100000; do
        head -c "$bytes" "$work/flights" | sed '$d' > "$work/small"
        bytes=$(stat -c %s "$work/small")
        race $((runs * 5)) start_true= start_version= small_check= small_cat="$work/small" small_sequential="$work/small"
        ((bytes > 1000)) || row '`--version`' "$(ms "${best[start_version]}")" "$(more start_version) more than \`true\`"
        row "\`check\` on a file of $bytes bytes" "$(ms "${best[small_check]}")" "$(more small_check) more than \`true\`"
        row "\`cat\` of it" "$(ms "${best[small_cat]}")" "with --sequential $(ms "${best[small_sequential]}")"
    done
}

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

flights "$work/flights" "$size"
quoted "$work/quoted" "$size"

heading "$binary"
printf 'Files of %s bytes in %s; the fewest milliseconds of %s rounds.\n\n' "$size" "$tmpfs" "$runs"
row what figure compared
row --- ---: ---
if wanted copy; then copy; fi
if wanted heavy; then heavy; fi
if wanted sleep; then sleeping; fi
if wanted check; then check; fi
if wanted small; then small; fi
if wanted memory; then memory; fi
