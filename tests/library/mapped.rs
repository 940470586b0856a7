//! Where the bytes of a chunk lie in the file that they are mapped from.

use std::fs::{self, File};
use std::io::Write;
use std::os::unix::fs::FileExt;
use std::sync::atomic::{AtomicU64, Ordering};

use inorder::{Buffer, Chunk, ChunkError, OnError, Pipeline, Sink, Source};

use crate::work::Chunks;

#[test]
fn the_bytes_of_a_chunk_or_of_a_part_stand_in_the_file_where_it_says() {
    let folder = tempfile::tempdir().unwrap();
    let paths = [folder.path().join("one"), folder.path().join("two")];
    let lines = |from: u64, to: u64| -> String { (from..=to).map(|n| format!("{n}\n")).collect() };
    fs::write(&paths[0], lines(1, 299) + "end 300").unwrap();
    fs::write(&paths[1], lines(1, 500)).unwrap();
    for mapped in [true, false] {
        for chunk_size in [None, Some(100), Some(10_000)] {
            let mut builder = Pipeline::builder().on_error(OnError::Skip).threads(3);
            if let Some(size) = chunk_size {
                builder = builder.chunk_size(size);
            }
            // SAFETY: nobody changes these files.
            let pipeline = unsafe { builder.memory_map(mapped) }.build().unwrap();
            let (from_map, read) = (AtomicU64::new(0), AtomicU64::new(0));
            // Hands on what stands in the file at the place that a chunk tells of.
            let process = Chunks(|chunk: &Chunk<'_>, out: &mut Buffer| {
                let count = match chunk.mapped_from() {
                    Some(_) => &from_map,
                    None => &read,
                };
                count.fetch_add(1, Ordering::Relaxed);
                // What was added to the first file's last record is in no file.
                if chunk.bytes().ends_with(b"end 300\n") {
                    assert!(chunk.mapped_from().is_none());
                }
                if chunk.records().any(|record| record.number() == 77) {
                    return Err(ChunkError::Whole("seventy-seven".into()));
                }
                let mut bytes = chunk.bytes().to_vec();
                if let Some((file, offset)) = chunk.mapped_from() {
                    bytes.fill(0);
                    File::from(file.try_clone_to_owned().unwrap())
                        .read_exact_at(&mut bytes, offset)
                        .unwrap();
                }
                assert_eq!(bytes, chunk.bytes());
                out.write_all(&bytes)
                    .map_err(|error| ChunkError::Fatal(error.into()))
            });
            let output = folder.path().join("out");
            let summary = pipeline
                .run(Source::files(&paths), Sink::file(&output), &process)
                .unwrap();
            assert_eq!(summary.skipped, 2);
            assert_eq!(from_map.into_inner() > 0, mapped);
            assert!(read.into_inner() > 0);
            let wanted =
                lines(1, 76) + &lines(78, 299) + "end 300\n" + &lines(1, 76) + &lines(78, 500);
            assert_eq!(fs::read_to_string(&output).unwrap(), wanted);
        }
    }
}
