//! Time and memory under slow sinks, slow records and small limits: rows F1, F2 and F7. F6 is in `voice`; F4 and F5
//! need a program's own closure, or a model: tests of the library.
#![cfg(target_os = "linux")]

use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::PathBuf;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::testenv::{TestEnv, finish, numbers, skipped};

#[test]
fn f1_slow_records_keep_order_and_budget() {
    let env = TestEnv::new();
    let whole = env.read("data/flights-sample.csv");
    // fib:24 costs ten thousand times what fib:5 does.
    for threads in ["2", "7"] {
        env.run(&format!(
            "inorder cat --work fib:1..24 -j {threads} --memory 64k data/flights-sample.csv -o out --stats s.json"
        ))
        .quiet();
        assert!(env.read("out") == whole);
        let figures = env.json("s.json");
        // What a chunk in work writes is known only once it is written.
        let peak = figures["peak_in_flight"].as_u64().unwrap();
        assert!(peak <= 2 * (64 << 10), "{figures}");
        assert_eq!(figures["records"], 2005, "{figures}");
    }
}

/// What a running program has used.
struct Used {
    cpu: Duration,
    peak_kib: u64,
}

impl Used {
    fn by(child: &Child) -> Used {
        let proc = PathBuf::from(format!("/proc/{}", child.id()));
        let stat = fs::read_to_string(proc.join("stat")).unwrap();
        // After the name in parentheses; user and system time are fields 14 and 15 of all.
        let fields: Vec<&str> = stat
            .rsplit(')')
            .next()
            .unwrap()
            .split_whitespace()
            .collect();
        let ticks: u64 = fields[11].parse::<u64>().unwrap() + fields[12].parse::<u64>().unwrap();
        let status = fs::read_to_string(proc.join("status")).unwrap();
        let peak = status
            .lines()
            .find_map(|line| line.strip_prefix("VmHWM:"))
            .unwrap();
        Used {
            // A tick is a hundredth of a second wherever Linux runs.
            cpu: Duration::from_millis(ticks * 10),
            peak_kib: peak.trim().trim_end_matches(" kB").parse().unwrap(),
        }
    }
}

/// How long it is measured, and the hundredth of it, in whole ticks.
const MEASURED: Duration = Duration::from_secs(3);
const HUNDREDTH: Duration = Duration::from_millis(30);

/// The processor time that the child used while `wait` went on. Other tests run meanwhile, and a busy machine charges for more
/// than was done: the quietest of three times counts.
fn idle_cpu(child: &Child, mut wait: impl FnMut()) -> Duration {
    let mut least = Duration::MAX;
    for _ in 0..3 {
        let before = Used::by(child);
        wait();
        least = least.min(Used::by(child).cpu - before.cpu);
        if least <= HUNDREDTH {
            break;
        }
    }
    least
}

#[test]
fn f2_a_slow_reader_costs_no_processor_time_and_no_memory() {
    let env = TestEnv::new();
    env.write("in", numbers(2_000_000));
    let ways: [&[&str]; 4] = [
        &["cat", "--memory", "2MiB", "in"],
        &["cat", "--memory", "2MiB", "--no-mmap", "-j", "8", "in"],
        &["cat", "--memory", "2MiB", "--progress", "always", "-"],
        &["cat", "--sequential", "in"],
    ];
    thread::scope(|scope| {
        for args in ways {
            let env = &env;
            scope.spawn(move || {
                let mut child = env
                    .program(args)
                    .stdin(File::open(env.path("in")).unwrap())
                    .stdout(Stdio::piped())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let mut stdout = child.stdout.take().unwrap();
                let mut piece = [0; 1000];
                let mut read_slowly = |time: Duration| {
                    let end = Instant::now() + time;
                    while Instant::now() < end {
                        stdout.read_exact(&mut piece).unwrap();
                        thread::sleep(Duration::from_millis(100));
                    }
                };
                read_slowly(Duration::from_millis(1000));
                let cpu = idle_cpu(&child, || read_slowly(MEASURED));
                let after = Used::by(&child);
                // Then nobody reads any more.
                drop(stdout);
                assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
                assert!(cpu <= HUNDREDTH, "{args:?}: {cpu:?} in {MEASURED:?}");
                // The budget, 32 MiB, and the pages of the mapped file that were touched, which count as resident.
                assert!(
                    after.peak_kib < 48 << 10,
                    "{args:?}: {} KiB",
                    after.peak_kib
                );
            });
        }
    });
}

#[test]
fn f2_a_slow_writer_costs_no_processor_time() {
    let env = TestEnv::new();
    let ways: [&[&str]; 3] = [
        &["cat"],
        &["cat", "--sequential"],
        &["check", "-j", "8", "--progress", "always"],
    ];
    thread::scope(|scope| {
        for args in ways {
            let env = &env;
            scope.spawn(move || {
                let mut child = env
                    .program(args)
                    .stdin(Stdio::piped())
                    .stdout(Stdio::null())
                    .stderr(Stdio::null())
                    .spawn()
                    .unwrap();
                let mut stdin = child.stdin.take().unwrap();
                stdin.write_all(b"one\ntwo\n").unwrap();
                thread::sleep(Duration::from_millis(500));
                let cpu = idle_cpu(&child, || thread::sleep(MEASURED));
                drop(stdin);
                assert_eq!(child.wait().unwrap().code(), Some(0), "{args:?}");
                assert!(cpu <= HUNDREDTH, "{args:?}: {cpu:?} in {MEASURED:?}");
            });
        }
    });
}

#[test]
fn records_of_a_live_stream_do_not_wait_for_more() {
    let env = TestEnv::new();
    for options in ["", "--sequential", "-j 8"] {
        let ran = env.run(&format!(
            "mkfifo f g; inorder cat {options} f -o g & exec 9<> g 8> f
             for i in 1 2 3; do echo $i >&8; read -t 20 line <&9 || exit 1; echo got $line; done
             exec 8>&-; wait; rm f g"
        ));
        ran.quiet().out("got 1\ngot 2\ngot 3\n");
    }
}

/// A memory cgroup that goes when dropped.
struct Cage(PathBuf);

impl Cage {
    /// `None` where it can't be made.
    fn new(bytes: u64) -> Option<Cage> {
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        let name = format!("inorder-test-{}", std::process::id());
        let try_in = |folder: String, limit: &str| -> std::io::Result<Cage> {
            let cage = Cage(PathBuf::from(folder).join(&name));
            fs::create_dir(&cage.0)?;
            fs::write(cage.0.join(limit), bytes.to_string())?;
            Ok(cage)
        };
        let mut reason = "no memory cgroup".to_string();
        for line in groups.lines() {
            let mut parts = line.splitn(3, ':').skip(1);
            let (kind, path) = (parts.next()?, parts.next()?);
            let made = match kind {
                "memory" => try_in(
                    format!("/sys/fs/cgroup/memory{path}"),
                    "memory.limit_in_bytes",
                ),
                "" => try_in(format!("/sys/fs/cgroup{path}"), "memory.max"),
                _ => continue,
            };
            match made {
                Ok(cage) => return Some(cage),
                Err(error) => reason = format!("a memory cgroup can't be made: {error}"),
            }
        }
        skipped(&reason);
        None
    }
}

impl Drop for Cage {
    fn drop(&mut self) {
        let _ = fs::remove_dir(&self.0);
    }
}

#[test]
fn f7_a_file_many_times_the_size_of_a_memory_cage_goes_through() {
    let env = TestEnv::new();
    let Some(cage) = Cage::new(64 << 20) else {
        return;
    };
    // 160 MiB; `benches/core.sh` measures with much more.
    let block: String = (0..100).map(|row| format!("{row:0>9999}\n")).collect();
    let mut file = File::create(env.path("in")).unwrap();
    let times = (160 << 20) / block.len();
    for _ in 0..times {
        file.write_all(block.as_bytes()).unwrap();
    }
    drop(file);
    let procs = cage.0.join("cgroup.procs");
    for script in [
        "inorder cat --memory 16MiB in -o out && cmp in out",
        "inorder cat --memory 16MiB --no-mmap -j 4 in | cmp in -",
        "inorder check --memory 16MiB in",
    ] {
        let script = format!("echo $$ > '{}' && {script}", procs.display());
        finish(&script, &mut env.script(&script)).quiet();
    }
}

#[test]
fn c1_output_without_end_ends_where_it_can_be_kept_no_more() {
    let env = TestEnv::new();
    env.write("in", "1\n2\n3\n");
    env.old_output();
    for command in [
        "exec --shell 'exec seq 1 100000000000' in",
        "map 'range(100000000000)' in",
        "map --from lines -r 'range(100000000000)' in",
    ] {
        let ran = env.run(&format!(
            "trap '' XFSZ; ulimit -f 8192; timeout -k 1 60 inorder {command} -j 2 --memory 1MiB -o o/out"
        ));
        ran.status(1)
            .err_has("cannot keep output in a temporary file: File too large");
        env.is_untouched(&ran);
    }
}

#[test]
fn an_endless_filter_ends_with_the_first_signal() {
    let env = TestEnv::new();
    env.write("in", "1\n");
    env.old_output();
    let ran = env
        .run("timeout --foreground -s INT -k 5 0.3 inorder map 'range(100000000000)' in -o o/out");
    ran.err_has("interrupted by SIGINT").status(124);
    env.is_untouched(&ran);
}
