//! The framing and the order, each alone, for the benches. Not part of the API: behind the feature `parts`.

use std::sync::{Mutex, mpsc};
use std::thread;

use crate::format::{Format, Framing};
use crate::frame::fields::{fields, write_row};
use crate::frame::scan::{Scanner, Want};
use crate::frame::spans::Spans;
use crate::order::{Limits, Next, Order, Ticket};

const CHUNK: usize = 1 << 20;

/// Cuts the whole data into chunks of 1 MiB and counts their records.
pub fn cut_all(bytes: &[u8], format: &Format) -> u64 {
    let want = Want {
        bytes: CHUNK,
        records: u64::MAX,
        flush: false,
    };
    let mut scanner = Scanner::new(format.framing);
    let (mut front, mut records) = (bytes, 0);
    while let Some(cut) = scanner.cut(front, true, &want) {
        front = &front[cut.len..];
        records += cut.records;
    }
    records
}

/// Finds each record.
pub fn count_records(bytes: &[u8], format: &Format) -> u64 {
    Spans::new(bytes, format.framing).count() as u64
}

/// Finds and unquotes each field of each record; of formats without fields, none.
pub fn count_fields(bytes: &[u8], format: &Format) -> u64 {
    let Some(dialect) = format.dialect() else {
        return 0;
    };
    let count = records(bytes, format.framing).flat_map(|record| fields(record, dialect));
    count.count() as u64
}

/// Writes each record again, field by field.
pub fn rewrite(bytes: &[u8], format: &Format, out: &mut Vec<u8>) {
    let Some(dialect) = format.dialect() else {
        return;
    };
    for record in records(bytes, format.framing) {
        // A field that the dialect can't hold can't come out of it.
        let _ = write_row(out, dialect, fields(record, dialect));
        out.push(b'\n');
    }
}

fn records(bytes: &[u8], framing: Framing) -> impl Iterator<Item = &[u8]> {
    Spans::new(bytes, framing).map(|span| &bytes[span.start..span.content_end])
}

fn limits(threads: usize) -> Limits {
    Limits {
        bytes: 64 << 20,
        slots: 64,
        started: threads,
    }
}

/// Each chunk goes the whole way alone: what the bookkeeping costs without any waiting.
pub fn one_by_one(chunks: u64) {
    let order = Order::new(limits(1));
    for number in 0..chunks {
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
pub fn with_workers(workers: usize, chunks: u64) {
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
            for number in 0..chunks {
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
        assert_eq!(written, chunks);
        for _ in 0..workers {
            pool.send(None).expect("the channel outlives the threads");
        }
    });
}
