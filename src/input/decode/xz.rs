//! xz.

use liblzma::stream::{Action, Error, Status, Stream};

use super::{Decode, Fault, Step};

pub(super) struct Xz {
    stream: Stream,
    memory: usize,
}

impl Xz {
    pub fn new(memory: usize) -> Result<Xz, Fault> {
        let stream = stream(memory)?;
        Ok(Xz { stream, memory })
    }
}

fn stream(memory: usize) -> Result<Stream, Fault> {
    Stream::new_stream_decoder(memory as u64, liblzma::stream::TELL_UNSUPPORTED_CHECK)
        .map_err(fault)
}

fn fault(error: Error) -> Fault {
    match error {
        Error::MemLimit | Error::Mem => Fault::Window,
        _ => Fault::Damaged,
    }
}

impl Decode for Xz {
    fn step(&mut self, input: &[u8], output: &mut [u8]) -> Result<Step, Fault> {
        let (read, written) = (self.stream.total_in(), self.stream.total_out());
        let status = self.stream.process(input, output, Action::Run);
        let status = status.map_err(fault)?;
        Ok(Step {
            read: (self.stream.total_in() - read) as usize,
            written: (self.stream.total_out() - written) as usize,
            ended: status == Status::StreamEnd,
        })
    }

    fn renew(&mut self) -> Result<(), Fault> {
        self.stream = stream(self.memory)?;
        Ok(())
    }
}
