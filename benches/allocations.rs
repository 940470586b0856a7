//! Asserts that no record costs an allocation once a run is under way: neither where chunks are passed on whole, nor where records are kept,
//! copied or written field by field. What is allocated belongs to chunks, whose buffers are used again.

use std::io::Write;

use inorder::{
    BoxError, Buffer, Chunk, ChunkError, Format, Pipeline, Process, Record, Sink, Source,
};

#[global_allocator]
static ALLOCATOR: dhat::Alloc = dhat::Alloc;

/// What is done with a chunk.
#[derive(Clone, Copy)]
struct Work {
    name: &'static str,
    by_chunk: bool,
    record: fn(&Record<'_>, &mut Buffer) -> Result<(), BoxError>,
}

impl Process for Work {
    type State = ();

    fn start(&self) -> Result<(), BoxError> {
        Ok(())
    }

    fn record(&self, (): &mut (), record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
        (self.record)(record, out)
    }

    fn chunk(&self, (): &mut (), chunk: &Chunk<'_>, out: &mut Buffer) -> Result<(), ChunkError> {
        if self.by_chunk {
            out.keep_chunk(chunk);
            return Ok(());
        }
        chunk.each(out, self.record)
    }
}

fn keep(record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
    out.keep(record);
    Ok(())
}

fn copy(record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
    out.write_all(record.raw())?;
    Ok(())
}

fn row(record: &Record<'_>, out: &mut Buffer) -> Result<(), BoxError> {
    out.row(record.fields())?;
    Ok(())
}

/// Rows with a quoted field each.
fn input(records: usize) -> Vec<u8> {
    let rows =
        (0..records).map(|n| format!("{n},2013-01-01T10:00:00Z,UA,\"two, and more\",227.5\n"));
    let rows = rows.collect::<String>();
    format!("id,time,carrier,note,number\n{rows}").into_bytes()
}

/// Blocks that a run over so much of the input allocates.
fn blocks(pipeline: &Pipeline, input: &[u8], work: Work) -> u64 {
    let before = dhat::HeapStats::get().total_blocks;
    let run = pipeline.run(Source::bytes(input), Sink::discard(), &work);
    run.unwrap_or_else(|error| panic!("{}: {error}", work.name));
    dhat::HeapStats::get().total_blocks - before
}

fn main() {
    let _profiler = dhat::Profiler::builder().testing().build();
    let records = 100_000;
    let (half, whole) = (input(records), input(2 * records));
    // Not by time: a debug build would have far smaller chunks.
    let pipeline = Pipeline::builder()
        .format(Format::csv())
        .threads(2)
        .chunk_size(256 << 10)
        .build();
    let pipeline = pipeline.expect("the settings are right");
    println!("| work | allocations for {records} records more | a record |");
    println!("| --- | ---: | ---: |");
    for work in [
        Work {
            name: "identity, by the chunk",
            by_chunk: true,
            record: keep,
        },
        Work {
            name: "keep",
            by_chunk: false,
            record: keep,
        },
        Work {
            name: "copy",
            by_chunk: false,
            record: copy,
        },
        Work {
            name: "row",
            by_chunk: false,
            record: row,
        },
    ] {
        // What a run allocates once is in both.
        let fewest = |input: &[u8]| {
            (0..3)
                .map(|_| blocks(&pipeline, input, work))
                .min()
                .unwrap_or_default()
        };
        let more = fewest(&whole).saturating_sub(fewest(&half));
        let each = more as f64 / records as f64;
        println!("| {} | {more} | {each:.4} |", work.name);
        assert!(each < 0.005, "{}: {each} allocations a record", work.name);
    }
}
