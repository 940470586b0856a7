//! gzip (RFC 1952), BGZF included.

use flate2::{Decompress, FlushDecompress, Status};

use super::{Decode, Fault, Step};

/// The largest window there is: 32 KiB.
const WINDOW_BITS: u8 = 15;

pub(super) struct Gzip(Decompress);

impl Gzip {
    pub fn new() -> Gzip {
        Gzip(Decompress::new_gzip(WINDOW_BITS))
    }
}

impl Decode for Gzip {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        let (read, written) = (self.0.total_in(), self.0.total_out());
        let status = self
            .0
            .decompress(input, output, FlushDecompress::None)
            .map_err(|error| match error.message() {
                Some(text) if text.contains("data check") || text.contains("length check") => {
                    Fault::Checksum
                }
                _ => Fault::Damaged,
            })?;
        Ok(Step {
            read: (self.0.total_in() - read) as usize,
            written: (self.0.total_out() - written) as usize,
            ended: status == Status::StreamEnd,
        })
    }

    fn renew(&mut self) -> Result<(), Fault> {
        // A reset would forget that a header is expected.
        self.0 = Decompress::new_gzip(WINDOW_BITS);
        Ok(())
    }
}
