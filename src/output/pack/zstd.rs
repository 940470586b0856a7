//! zstd frames.

use std::io;

use zstd::bulk::Compressor;
use zstd::zstd_safe::CParameter;

use super::Codec;

pub(super) struct Zstd(Compressor<'static>);

impl Zstd {
    pub fn new(level: i32) -> io::Result<Zstd> {
        let mut compressor = Compressor::new(level)?;
        compressor.set_parameter(CParameter::ChecksumFlag(true))?;
        Ok(Zstd(compressor))
    }
}

impl Codec for Zstd {
    fn pack(&mut self, block: &[u8]) -> io::Result<Vec<u8>> {
        let mut packed = self.0.compress(block)?;
        packed.shrink_to_fit();
        Ok(packed)
    }
}
