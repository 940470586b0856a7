# What the scripts here have in common; it is sourced. They set work, a folder for the files of this run, out, the file
# that the measured commands write, root, the project's folder, and binary, tmpfs and only, as they were typed.

fail() {
    printf '%s: %s\n' "${0##*/}" "$*" >&2
    exit 1
}

# need_tools: fails unless what every script takes is there.
need_tools() {
    [[ -n ${EPOCHREALTIME:-} ]] || fail 'bash 5 or newer is needed'
    [[ -x $binary ]] || fail "$binary is missing: run cargo build --release, or name it with --binary"
    [[ -x /usr/bin/time ]] || fail 'GNU time is missing (the package is called time)'
    [[ -d $tmpfs ]] || fail "$tmpfs is no folder: name a tmpfs with --tmpfs"
}

# wanted PART: whether it was asked for
wanted() { [[ ,$only, == *,$1,* ]]; }

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

# peak WHAT COMMAND...: runs it, its output thrown away; the row's figure is the most resident memory
peak() {
    local what=$1
    shift
    /usr/bin/time -f %M -o "$work/peak" -- "$@" > /dev/null || fail "failed: $*"
    row "peak memory, $what" "$(mib)" ''
}

mib() { awk 'END { printf "%.1f MiB", $1 / 1024 }' "$work/peak"; }

# ---- the table

# The processor's name.
machine() {
    awk -F': *' '/^model name/ { print $2; exit }' /proc/cpuinfo | grep . || uname -m
}

# heading BINARY: what was measured where
heading() {
    printf '%s, on %s, %s cores, %s MiB of memory, Linux %s, %s\n\n' "$("$1" --version)" "$(machine)" "$(nproc)" \
        "$(awk '/^MemTotal/ { print int($2 / 1024) }' /proc/meminfo)" "$(uname -r)" "$(date -u +%F)"
}
