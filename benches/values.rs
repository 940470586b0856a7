//! Ordered values beside what else there is: the loop, pariter, rayon's `par_bridge` with a sort behind it, orx-parallel. At 100 ns, 1 µs,
//! 10 µs and 1 ms of work an item, which here is a spin of calibrated length.
//!
//! Of these, only pariter and this crate give results while they go on, in bounded memory.
//! `INORDER_BENCH_BYTES` below a million makes it a short run.

use std::hint::black_box;
use std::num::NonZero;
use std::thread::available_parallelism;
use std::time::{Duration, Instant};

use criterion::{Criterion, SamplingMode, Throughput, criterion_group, criterion_main};
use inorder::InOrder;
use orx_parallel::{IterIntoParIter, Par};
use pariter::IteratorExt;
use rayon::iter::{ParallelBridge, ParallelIterator};

/// So much work a run.
const RUN: Duration = Duration::from_millis(30);

/// The work: so many multiplications, each of which needs the last one's result.
fn spin(x: u64, rounds: u64) -> u64 {
    let mut y = x | 1;
    for _ in 0..rounds {
        y = (y ^ (y >> 29)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    }
    y ^ x
}

/// How many rounds take so long, on average in the loop: the processor begins with an item before the last one is done.
fn rounds(time: Duration) -> u64 {
    let items = (Duration::from_millis(2).as_nanos() / time.as_nanos()).max(2) as u64;
    let mut rounds = 100;
    for _ in 0..4 {
        let runs = (0..5).map(|_| {
            let begun = Instant::now();
            black_box(sum((0..items).map(black_box).map(|x| spin(x, rounds))));
            begun.elapsed()
        });
        let fastest = runs.min().unwrap_or_default().as_nanos().max(1);
        let goal = time.as_nanos() * u128::from(items);
        rounds = (u128::from(rounds) * goal / fastest).max(1) as u64;
    }
    rounds
}

/// Takes the results in order.
fn sum(results: impl Iterator<Item = u64>) -> u64 {
    results.fold(0, |sum, x| sum.rotate_left(1) ^ x)
}

fn values(criterion: &mut Criterion) {
    let short = std::env::var("INORDER_BENCH_BYTES").is_ok_and(|bytes| bytes.len() < 7);
    let threads = available_parallelism().map_or(1, NonZero::get);
    let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
    let pool = pool.expect("threads can be started");
    for (name, time) in [
        ("100 ns", Duration::from_nanos(100)),
        ("1 µs", Duration::from_micros(1)),
        ("10 µs", Duration::from_micros(10)),
        ("1 ms", Duration::from_millis(1)),
    ] {
        let rounds = rounds(time);
        let work = move |x| spin(x, rounds);
        let items = (RUN.as_nanos() / time.as_nanos()) as u64 / if short { 10 } else { 1 };
        // An iterator of which nobody knows that it is a range.
        let source = move || (0..items).map(black_box);
        let expected = sum(source().map(work));

        let mut group = criterion.benchmark_group(format!("values, {name}"));
        group.sampling_mode(SamplingMode::Flat).sample_size(20);
        group
            .warm_up_time(Duration::from_millis(300))
            .measurement_time(Duration::from_secs(2));
        group.throughput(Throughput::Elements(items));
        let mut way = |name: &str, run: &dyn Fn() -> u64| {
            assert_eq!(run(), expected, "{name}");
            group.bench_function(name, |bencher| bencher.iter(run));
        };
        way("sequential", &|| sum(source().map(work)));
        way("map", &|| {
            sum(source().in_order().threads(threads).map(work))
        });
        way("map_local", &|| {
            sum(source().in_order().threads(threads).map_local(work))
        });
        way("scope", &|| {
            source()
                .in_order()
                .threads(threads)
                .scope(work, |results| sum(results))
        });
        way("pariter", &|| {
            sum(source().parallel_map_custom(|options| options.threads(threads), work))
        });
        way("par_bridge and sort", &|| {
            let items = source().enumerate().par_bridge();
            let items = items.map(|(index, x)| (index, work(x)));
            let mut results: Vec<_> = pool.install(|| items.collect());
            results.sort_unstable_by_key(|(index, _)| *index);
            sum(results.into_iter().map(|(_, x)| x))
        });
        way("orx-parallel", &|| {
            let results: Vec<_> = source()
                .iter_into_par()
                .num_threads(threads)
                .map(work)
                .collect();
            sum(results.into_iter())
        });
        group.finish();
    }
}

criterion_group!(benches, values);
criterion_main!(benches);
