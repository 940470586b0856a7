//! The framing and the order, each alone: `cargo bench --features parts --bench parts`.
//!
//! `INORDER_BENCH_BYTES` sets the size of the framed data (default 32,000,000).

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

use inorder::{Format, parts};

#[allow(
    dead_code,
    reason = "the generator has more formats than are measured here"
)]
#[path = "../examples/generate/rows.rs"]
mod rows;

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

fn framing(criterion: &mut Criterion) {
    let csv = Format::csv().header(false);
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
            bencher.iter(|| assert_eq!(parts::cut_all(&data.bytes, &format), data.records));
        });
        group.bench_function(BenchmarkId::new("records", name), |bencher| {
            bencher.iter(|| assert_eq!(parts::count_records(&data.bytes, &format), data.records));
        });
        let fields = parts::count_fields(&data.bytes, &format);
        if fields == 0 {
            continue;
        }
        assert_eq!(fields, data.records * 19);
        group.bench_function(BenchmarkId::new("fields", name), |bencher| {
            bencher.iter(|| assert_eq!(parts::count_fields(&data.bytes, &format), fields));
        });
        group.bench_function(BenchmarkId::new("fields and rows", name), |bencher| {
            let mut out = Vec::with_capacity(2 * data.bytes.len());
            bencher.iter(|| {
                out.clear();
                parts::rewrite(&data.bytes, &format, &mut out);
            });
            assert_eq!(parts::count_records(&out, &format), data.records);
        });
    }
    group.finish();
}

const CHUNKS: u64 = 10_000;

fn order(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("order");
    group
        .sample_size(20)
        .throughput(Throughput::Elements(CHUNKS));
    group.bench_function("chunks one by one", |bencher| {
        bencher.iter(|| parts::one_by_one(CHUNKS));
    });
    for workers in [1, 2, 8] {
        let id = BenchmarkId::new("chunks with workers", workers);
        group.bench_function(id, |bencher| {
            bencher.iter(|| parts::with_workers(workers, CHUNKS));
        });
    }
    group.finish();
}

criterion_group!(benches, framing, order);
criterion_main!(benches);
