//! Bytes per second of `process_file` and `Pipeline` beside the two loops one would write by hand: read a line, work,
//! write; and the same with the `csv` crate. Every way is first run once and its output compared.
//!
//! `INORDER_BENCH_BYTES` sets the size of the input (default 32,000,000); the heavy work gets a 32nd of it.
//! Input and output lie in `/dev/shm` where there is one, so that no disk is measured, and the output is one file
//! that is rewritten in place, because the first touch of a page can cost more than the work. `process_file` alone
//! makes a new file each time, which is what it is for.

use std::borrow::Cow;
use std::fs::File;
use std::hint::black_box;
use std::io::{self, BufRead, BufReader, BufWriter, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::time::Duration;

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use inorder::{Buffer, Format, Pipeline, Record, RowError, Sink, Source, process_file};
use tempfile::TempDir;

#[allow(
    dead_code,
    reason = "the generator has more formats than are measured here"
)]
#[path = "../examples/generate/rows.rs"]
mod rows;

/// What is done with each record.
#[derive(Clone, Copy)]
enum Work {
    /// Nothing: it is written as it was read.
    None,
    /// One field, the carrier, is changed.
    Light,
    /// fib(20), some 10 to 40 microseconds, then as `None`.
    Heavy,
}

const CARRIER: usize = 9;
/// The buffers of the loops by hand. The defaults of 8 KiB are slower.
const BUFFER: usize = 64 << 10;

fn fib(n: u32) -> u64 {
    if n < 2 {
        n.into()
    } else {
        fib(n - 1) + fib(n - 2)
    }
}

fn work_heavily() {
    black_box(fib(black_box(20)));
}

/// The field as it shall be written.
fn changed(index: usize, field: &[u8]) -> Cow<'_, [u8]> {
    if index == CARRIER {
        Cow::Owned(field.to_ascii_lowercase())
    } else {
        Cow::Borrowed(field)
    }
}

/// One input, and the place where every way writes.
struct Bench {
    folder: TempDir,
    input: PathBuf,
    size: u64,
    output: File,
}

impl Bench {
    fn new(size: u64) -> io::Result<Bench> {
        let shared_memory = Path::new("/dev/shm");
        let folder = if shared_memory.is_dir() {
            tempfile::tempdir_in(shared_memory)?
        } else {
            tempfile::tempdir()?
        };
        let input = folder.path().join("flights.csv");
        let mut bytes = Vec::new();
        let mut rows = rows::Rows::new(rows::Format::Csv, 1);
        rows.header(&mut bytes);
        while (bytes.len() as u64) < size {
            rows.row(&mut bytes);
        }
        std::fs::write(&input, &bytes)?;
        let output = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(folder.path().join("out.csv"))?;
        Ok(Bench {
            folder,
            input,
            size: bytes.len() as u64,
            output,
        })
    }

    /// The output, to be written from its start.
    fn output(&self) -> &File {
        (&self.output).rewind().expect("the output can seek");
        &self.output
    }

    /// What one run writes.
    fn written(&self, run: impl FnOnce()) -> Vec<u8> {
        self.output.set_len(0).expect("the output can be cut");
        run();
        let mut bytes = Vec::new();
        self.output()
            .read_to_end(&mut bytes)
            .expect("the output can be read");
        bytes
    }

    fn plain_loop(&self, work: Work) -> io::Result<()> {
        let mut reader = BufReader::with_capacity(BUFFER, File::open(&self.input)?);
        let mut writer = BufWriter::with_capacity(BUFFER, self.output());
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line)?;
        writer.write_all(&line)?;
        line.clear();
        while reader.read_until(b'\n', &mut line)? > 0 {
            match work {
                Work::None => writer.write_all(&line)?,
                Work::Light => {
                    // Right only because no field of this input is quoted.
                    for (index, field) in line.split(|&byte| byte == b',').enumerate() {
                        if index > 0 {
                            writer.write_all(b",")?;
                        }
                        writer.write_all(&changed(index, field))?;
                    }
                }
                Work::Heavy => {
                    work_heavily();
                    writer.write_all(&line)?;
                }
            }
            line.clear();
        }
        writer.flush()
    }

    fn csv_loop(&self, work: Work) -> Result<(), csv::Error> {
        let mut reader = csv::ReaderBuilder::new()
            .buffer_capacity(BUFFER)
            .from_reader(File::open(&self.input)?);
        let mut writer = csv::WriterBuilder::new()
            .buffer_capacity(BUFFER)
            .from_writer(self.output());
        writer.write_byte_record(reader.byte_headers()?)?;
        let mut record = csv::ByteRecord::new();
        while reader.read_byte_record(&mut record)? {
            match work {
                Work::None => writer.write_byte_record(&record)?,
                Work::Light => {
                    let fields = record.iter().enumerate();
                    writer.write_record(fields.map(|(index, field)| changed(index, field)))?;
                }
                Work::Heavy => {
                    work_heavily();
                    writer.write_byte_record(&record)?;
                }
            }
        }
        writer.flush()?;
        Ok(())
    }

    fn pipeline(&self, pipeline: &Pipeline, work: Work) -> Result<(), inorder::Error> {
        let (source, sink) = (Source::file(&self.input), Sink::writer(self.output()));
        match work {
            Work::None => pipeline.run_each(source, sink, keep),
            Work::Light => pipeline.run_each(source, sink, change_carrier),
            Work::Heavy => pipeline.run_each(source, sink, keep_heavily),
        }?;
        Ok(())
    }
}

fn keep(record: &Record<'_>, out: &mut Buffer) {
    out.keep(record);
}

fn change_carrier(record: &Record<'_>, out: &mut Buffer) -> Result<(), RowError> {
    let fields = record.fields().enumerate();
    out.row(fields.map(|(index, field)| match index {
        CARRIER => Cow::Owned(field.to_ascii_lowercase()),
        _ => field,
    }))
}

/// For `process_file`, whose records are lines. Right only because no field of this input is quoted; the header's
/// carrier is in lower case already.
fn change_carrier_of_line(line: &Record<'_>, out: &mut Buffer) -> Result<(), RowError> {
    let fields = line.bytes().split(|&byte| byte == b',').enumerate();
    out.row(fields.map(|(index, field)| changed(index, field)))
}

fn keep_heavily(record: &Record<'_>, out: &mut Buffer) {
    work_heavily();
    out.keep(record);
}

/// 1, 2 and as many threads as there are cores.
fn thread_counts() -> Vec<usize> {
    let all = std::thread::available_parallelism().map_or(1, usize::from);
    let mut counts = vec![1, 2, all];
    counts.sort_unstable();
    counts.dedup();
    counts
}

fn input_size() -> u64 {
    std::env::var("INORDER_BENCH_BYTES").map_or(32_000_000, |size| {
        size.parse()
            .expect("INORDER_BENCH_BYTES is a number of bytes")
    })
}

fn measure(criterion: &mut Criterion, name: &str, work: Work, format: &Format, size: u64) {
    let bench = Bench::new(size).expect("the input can be made");
    let mut group = criterion.benchmark_group(name);
    group
        .throughput(Throughput::Bytes(bench.size))
        .sampling_mode(SamplingMode::Flat)
        .sample_size(10)
        .warm_up_time(Duration::from_secs(1))
        .measurement_time(Duration::from_secs(3));

    let expected = bench.written(|| bench.plain_loop(work).expect("the plain loop works"));
    let mut add = |name: &str, run: &dyn Fn()| {
        assert!(bench.written(run) == expected, "{name}: the output differs");
        group.bench_function(name, |bencher| bencher.iter(run));
    };
    add("plain loop", &|| {
        bench.plain_loop(work).expect("the plain loop works")
    });
    add("csv crate loop", &|| {
        bench.csv_loop(work).expect("the csv loop works")
    });
    for threads in thread_counts() {
        let builder = || Pipeline::builder().format(format.clone()).threads(threads);
        let read = builder().build().expect("the settings are good");
        add(&format!("pipeline, threads: {threads}"), &|| {
            bench.pipeline(&read, work).expect("the pipeline works");
        });
        // SAFETY: the input is in a folder of our own, and nothing writes to it any more.
        #[allow(unsafe_code, reason = "mapping is offered by an unsafe setting only")]
        let mapped = unsafe { builder().memory_map(true) };
        let mapped = mapped.build().expect("the settings are good");
        add(&format!("pipeline, threads: {threads}, mapped"), &|| {
            bench.pipeline(&mapped, work).expect("the pipeline works");
        });
    }

    let new_file = bench.folder.path().join("new.csv");
    let process = || {
        let (input, output) = (&bench.input, &new_file);
        match work {
            Work::None => process_file(input, output, keep),
            Work::Light => process_file(input, output, change_carrier_of_line),
            Work::Heavy => process_file(input, output, keep_heavily),
        }
        .expect("process_file works")
    };
    process();
    let written = std::fs::read(&new_file).expect("the output can be read");
    assert!(written == expected, "process_file: the output differs");
    group.bench_function("process_file, new file", |bencher| bencher.iter(process));
    group.finish();
}

fn throughput(criterion: &mut Criterion) {
    let size = input_size();
    let (csv, lines) = (Format::csv(), Format::lines());
    measure(criterion, "none, lines", Work::None, &lines, size);
    measure(criterion, "none, CSV", Work::None, &csv, size);
    measure(criterion, "light, CSV", Work::Light, &csv, size);
    measure(criterion, "heavy, CSV", Work::Heavy, &csv, size / 32);
}

criterion_group!(benches, throughput);
criterion_main!(benches);
