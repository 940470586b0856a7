//! The framing and the order, each alone. Both are internal, so this compiles their sources, as the model checks of the
//! order do.
//!
//! `INORDER_BENCH_BYTES` sets the size of the framed data (default 32,000,000).

use std::sync::{Mutex, mpsc};
use std::thread;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use source::format::{Dialect, Format, Framing};
use source::frame::fields::{fields, write_row};
use source::frame::scan::{Scanner, Want};
use source::frame::spans::Spans;
use source::order::{Limits, Next, Order, Ticket};
// The sources name each other as parts of their own crate.
use source::{format, frame, sync};

#[allow(
    dead_code,
    reason = "the generator has more formats than are measured here"
)]
#[path = "../examples/generate/rows.rs"]
mod rows;

#[allow(
    dead_code,
    unused_imports,
    reason = "the library has more users than this"
)]
#[path = "../src"]
mod source {
    pub mod format;
    pub mod frame {
        pub mod csv;
        pub mod fields;
        pub mod lines;
        pub mod scan;
        pub mod spans;
    }
    pub mod order;
    pub mod sync;
}

const CHUNK: usize = 1 << 20;

/// Data of one kind, and how many records it has, the header included.
struct Data {
    bytes: Vec<u8>,
    records: u64,
}

impl Data {
    fn new(format: rows::Format) -> Data {
        let size = std::env::var("INORDER_BENCH_BYTES").map_or(32_000_000, |size| {
            size.parse()
                .expect("INORDER_BENCH_BYTES is a number of bytes")
        });
        let mut data = Data {
            bytes: Vec::new(),
            records: 0,
        };
        let mut rows = rows::Rows::new(format, 1);
        rows.header(&mut data.bytes);
        data.records = u64::from(!data.bytes.is_empty());
        while data.bytes.len() < size {
            rows.row(&mut data.bytes);
            data.records += 1;
        }
        data
    }

    fn size(&self) -> Throughput {
        Throughput::Bytes(self.bytes.len() as u64)
    }
}

/// Cuts the whole data into chunks and counts their records.
fn cut_all(bytes: &[u8], framing: Framing) -> u64 {
    let want = Want {
        bytes: CHUNK,
        records: u64::MAX,
        flush: false,
    };
    let mut scanner = Scanner::new(framing);
    let (mut front, mut records) = (bytes, 0);
    while let Some(cut) = scanner.cut(front, true, &want) {
        front = &front[cut.len..];
        records += cut.records;
    }
    assert!(front.is_empty());
    records
}

fn framing(criterion: &mut Criterion) {
    let csv = Format::csv();
    let cases = [
        ("lines", rows::Format::Lines, Format::lines()),
        ("ndjson", rows::Format::Ndjson, Format::ndjson()),
        ("csv", rows::Format::Csv, csv.clone()),
        ("csv with quotes", rows::Format::Quoted, csv),
    ];
    let mut group = criterion.benchmark_group("framing");
    group.sample_size(20);
    for (name, rows, format) in cases {
        let data = Data::new(rows);
        group.throughput(data.size());
        group.bench_function(BenchmarkId::new("chunks", name), |bencher| {
            bencher.iter(|| assert_eq!(cut_all(&data.bytes, format.framing), data.records));
        });
        group.bench_function(BenchmarkId::new("records", name), |bencher| {
            bencher.iter(|| {
                let spans = Spans::new(&data.bytes, format.framing);
                assert_eq!(spans.count() as u64, data.records);
            });
        });
        let Some(dialect) = format.dialect() else {
            continue;
        };
        group.bench_function(BenchmarkId::new("fields", name), |bencher| {
            bencher.iter(|| {
                let count =
                    records(&data.bytes, dialect).flat_map(|record| fields(record, dialect));
                assert_eq!(count.count() as u64, data.records * 19);
            });
        });
        group.bench_function(BenchmarkId::new("fields and rows", name), |bencher| {
            let mut out = Vec::with_capacity(2 * data.bytes.len());
            bencher.iter(|| {
                out.clear();
                for record in records(&data.bytes, dialect) {
                    write_row(&mut out, dialect, fields(record, dialect))
                        .expect("the dialect quotes");
                    out.push(b'\n');
                }
                assert_eq!(cut_all(&out, format.framing), data.records);
            });
        });
    }
    group.finish();
}

fn records(bytes: &[u8], dialect: Dialect) -> impl Iterator<Item = &[u8]> {
    Spans::new(bytes, Framing::Csv(dialect)).map(|span| &bytes[span.start..span.content_end])
}

const CHUNKS: u64 = 10_000;

fn limits(threads: usize) -> Limits {
    Limits {
        bytes: 64 << 20,
        slots: 64,
        started: threads,
    }
}

/// Each chunk goes the whole way alone: what the bookkeeping costs without any waiting.
fn one_by_one() {
    let order = Order::new(limits(1));
    for number in 0..CHUNKS {
        assert!(order.wait_for_room());
        assert!(order.push(number, CHUNK).is_ok());
        let (ticket, chunk) = order.start_next().expect("the head may start");
        assert!(order.claim(ticket).fill(chunk, CHUNK));
        assert!(
            matches!(order.next(), Next::Result(seq, chunk) if seq == number && chunk == number)
        );
        order.release();
    }
}

/// Reader, writer and workers on threads of their own, and work that costs nothing.
fn with_workers(workers: usize) {
    let order = &Order::new(limits(workers));
    // A `None` sends one worker home.
    let (pool, jobs) = mpsc::channel::<Option<(Ticket, u64)>>();
    let jobs = &Mutex::new(jobs);
    let hand_over = |pool: &mpsc::Sender<_>| {
        while let Some(started) = order.start_next() {
            pool.send(Some(started))
                .expect("the channel outlives the threads");
        }
    };
    thread::scope(|scope| {
        for _ in 0..workers {
            let pool = pool.clone();
            scope.spawn(move || {
                let next = || jobs.lock().expect("no worker panics").recv();
                while let Ok(Some((ticket, chunk))) = next() {
                    assert!(order.claim(ticket).fill(chunk, CHUNK));
                    hand_over(&pool);
                }
            });
        }
        let reader_pool = pool.clone();
        scope.spawn(move || {
            for number in 0..CHUNKS {
                assert!(order.push(number, CHUNK).is_ok());
                hand_over(&reader_pool);
            }
            order.close();
        });
        let mut written = 0;
        while let Next::Result(seq, chunk) = order.next() {
            assert_eq!((seq, chunk), (written, written));
            order.release();
            hand_over(&pool);
            written += 1;
        }
        assert_eq!(written, CHUNKS);
        for _ in 0..workers {
            pool.send(None).expect("the channel outlives the threads");
        }
    });
}

fn order(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("order");
    group
        .sample_size(20)
        .throughput(Throughput::Elements(CHUNKS));
    group.bench_function("chunks one by one", |bencher| bencher.iter(one_by_one));
    for workers in [1, 2, 8] {
        let id = BenchmarkId::new("chunks with workers", workers);
        group.bench_function(id, |bencher| bencher.iter(|| with_workers(workers)));
    }
    group.finish();
}

criterion_group!(benches, framing, order);
criterion_main!(benches);
