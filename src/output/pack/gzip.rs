//! gzip members.

use std::io;

use libdeflater::{CompressionLvl, Compressor};

use super::Codec;

pub(super) struct Gzip(Compressor);

impl Gzip {
    pub fn new(level: i32) -> io::Result<Gzip> {
        let level = CompressionLvl::new(level)
            .map_err(|_| io::Error::other(format!("gzip has no level {level}")))?;
        Ok(Gzip(Compressor::new(level)))
    }
}

impl Codec for Gzip {
    fn pack(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = vec![0; self.0.gzip_compress_bound(block.len())];
        let len = self
            .0
            .gzip_compress(block, &mut packed)
            .map_err(|error| io::Error::other(format!("gzip: {error}")))?;
        packed.truncate(len);
        packed.shrink_to_fit();
        Ok(packed)
    }
}
