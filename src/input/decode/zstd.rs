//! zstd (RFC 8878), skippable frames included.

use zstd::stream::raw::{DParameter, Decoder, InBuffer, Operation, OutBuffer};

use super::{Decode, Fault, Step};

pub(super) struct Zstd(Decoder<'static>);

impl Zstd {
    pub fn new(memory: usize) -> Result<Zstd, Fault> {
        let mut decoder = Decoder::new().map_err(|_| Fault::Window)?;
        // The format's own bounds.
        let log = memory.max(1).ilog2().clamp(10, 31);
        decoder
            .set_parameter(DParameter::WindowLogMax(log))
            .or_else(|_| decoder.set_parameter(DParameter::WindowLogMax(log.min(30))))
            .map_err(|_| Fault::Window)?;
        Ok(Zstd(decoder))
    }
}

impl Decode for Zstd {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        let mut input = InBuffer::around(input);
        let mut output = OutBuffer::around(output);
        let left = self.0.run(&mut input, &mut output).map_err(|error| {
            let text = error.to_string();
            if text.contains("too much memory") {
                Fault::Window
            } else if text.contains("checksum") {
                Fault::Checksum
            } else {
                Fault::Damaged
            }
        })?;
        Ok(Step {
            read: input.pos(),
            written: output.pos(),
            ended: left == 0,
        })
    }

    fn renew(&mut self) -> Result<(), Fault> {
        self.0.reinit().map_err(|_| Fault::Damaged)
    }
}
