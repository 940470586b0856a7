//! bzip2.

use bzip2::{Decompress, Status};

use super::{Decode, Fault, Step};

pub(super) struct Bzip2(Decompress);

impl Bzip2 {
    pub fn new() -> Bzip2 {
        Bzip2(Decompress::new(false))
    }
}

impl Decode for Bzip2 {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        let (read, written) = (self.0.total_in(), self.0.total_out());
        let status = self.0.decompress(input, output);
        let status = status.map_err(|_| Fault::Damaged)?;
        Ok(Step {
            read: (self.0.total_in() - read) as usize,
            written: (self.0.total_out() - written) as usize,
            ended: status == Status::StreamEnd,
        })
    }

    fn renew(&mut self) -> Result<(), Fault> {
        self.0 = Decompress::new(false);
        Ok(())
    }
}
