//! The ordered bytes' way to the output: as they are, or cut into blocks that are compressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::{IoSlice, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::pack::{BLOCK, Compress, Packer};
use super::{COPY_BLOCK, Output, OutputError};
use crate::text::{Encoding, Transcoder, Unencodable};

/// Where the ordered stage writes.
pub(crate) struct Outlet<'o> {
    name: PathBuf,
    can_be_taken_back: bool,
    /// `None` while another thread writes.
    output: Option<Output<'o>>,
    blocks: Option<Blocks>,
    encoding: Option<Encoding>,
}

/// The blocks of a compressed output.
struct Blocks {
    packer: Arc<Packer>,
    /// The block that is being filled.
    block: Vec<u8>,
    /// Blocks that were filled before.
    filled: u64,
    lane: Option<Box<dyn Lane>>,
}

/// Takes blocks that are full, to compress and write them elsewhere.
pub(crate) trait Lane: Send {
    /// Waits until there is room.
    ///
    /// # Errors
    /// The output failed, or the run is stopped.
    fn push(&mut self, block: Vec<u8>) -> Result<(), OutputError>;
}

impl<'o> Outlet<'o> {
    pub fn new(
        output: Output<'o>,
        compress: Option<Compress>,
        encoding: Option<Encoding>,
    ) -> Outlet<'o> {
        Outlet {
            name: output.name().to_path_buf(),
            can_be_taken_back: output.can_be_taken_back(),
            output: Some(output),
            encoding,
            blocks: compress.map(|compress| Blocks {
                packer: Arc::new(Packer::new(compress)),
                block: Vec::new(),
                filled: 0,
                lane: None,
            }),
        }
    }

    /// See [`Output::name`].
    pub fn name(&self) -> &Path {
        &self.name
    }

    /// See [`Output::can_be_taken_back`].
    pub fn can_be_taken_back(&self) -> bool {
        self.can_be_taken_back
    }

    /// What compresses the output, if something does.
    pub fn packer(&self) -> Option<Arc<Packer>> {
        self.blocks
            .as_ref()
            .map(|blocks| Arc::clone(&blocks.packer))
    }

    /// From now on full blocks go to `lane`. Gives the output, which must come back before the end.
    pub fn lend(&mut self, lane: Box<dyn Lane>) -> Option<Output<'o>> {
        self.blocks.as_mut()?.lane = Some(lane);
        self.output.take()
    }

    /// No more blocks go elsewhere.
    pub fn close_lane(&mut self) {
        if let Some(blocks) = &mut self.blocks {
            blocks.lane = None;
        }
    }

    /// The output is back. It is of no more use unless it is `whole`, with all blocks that were filled.
    pub fn give_back(&mut self, output: Output<'o>, whole: bool) {
        self.output = whole.then_some(output);
    }

    /// Text that no worker has encoded, as it is to be written.
    pub fn encode<'t>(&self, text: &'t [u8]) -> Result<Cow<'t, [u8]>, Unencodable> {
        let Some(encoding) = self.encoding else {
            return Ok(Cow::Borrowed(text));
        };
        let mut transcoder = Transcoder::new(encoding);
        let mut encoded = Vec::new();
        transcoder.push(text, &mut encoded);
        transcoder.settle(&mut encoded)?;
        Ok(Cow::Owned(encoded))
    }

    /// See [`Output::write_all`].
    pub fn write_all(&mut self, parts: &mut [IoSlice<'_>]) -> Result<(), OutputError> {
        if self.blocks.is_none() {
            return self.output()?.write_all(parts);
        }
        for part in parts {
            let mut rest: &[u8] = part;
            while !rest.is_empty() {
                let n = rest.len().min(self.room());
                if let Some(blocks) = &mut self.blocks {
                    blocks.block.extend_from_slice(&rest[..n]);
                }
                rest = &rest[n..];
                self.settle()?;
            }
        }
        Ok(())
    }

    /// See [`Output::copy_from`].
    pub fn copy_from(&mut self, file: &mut File, len: u64) -> Result<(), OutputError> {
        if self.blocks.is_none() {
            return self.output()?.copy_from(file, len);
        }
        let mut piece = vec![0; COPY_BLOCK.min(usize::try_from(len).unwrap_or(COPY_BLOCK))];
        let mut left = len;
        while left > 0 {
            let n = piece.len().min(usize::try_from(left).unwrap_or(COPY_BLOCK));
            file.read_exact(&mut piece[..n])
                .map_err(OutputError::spill)?;
            self.write_all(&mut [IoSlice::new(&piece[..n])])?;
            left -= n as u64;
        }
        Ok(())
    }

    /// Hands on what is kept back, a block that is not full too: for the end of a run that failed.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        let due = |blocks: &Blocks| !blocks.block.is_empty();
        if self.output.is_some() && self.blocks.as_ref().is_some_and(due) {
            self.pack_here()?;
        }
        match &mut self.output {
            Some(output) => output.flush(),
            None => Ok(()),
        }
    }

    /// See [`Output::finish`].
    pub fn finish(mut self) -> Result<(), OutputError> {
        let due = |blocks: &Blocks| !blocks.block.is_empty() || blocks.filled == 0;
        // An output of nothing is one empty member.
        if self.blocks.as_ref().is_some_and(due) {
            self.pack_here()?;
        }
        match self.output.take() {
            Some(output) => output.finish(),
            None => Err(OutputError::stopped()),
        }
    }

    fn output(&mut self) -> Result<&mut Output<'o>, OutputError> {
        self.output.as_mut().ok_or_else(OutputError::stopped)
    }

    /// How much the block still takes.
    fn room(&self) -> usize {
        self.blocks
            .as_ref()
            .map_or(0, |blocks| BLOCK - blocks.block.len())
    }

    /// Sees off the block, if it is full.
    fn settle(&mut self) -> Result<(), OutputError> {
        let Some(blocks) = &mut self.blocks else {
            return Ok(());
        };
        if blocks.block.len() < BLOCK {
            return Ok(());
        }
        let Some(lane) = &mut blocks.lane else {
            return self.pack_here();
        };
        let block = std::mem::replace(&mut blocks.block, Vec::with_capacity(BLOCK));
        blocks.filled += 1;
        lane.push(block)
    }

    /// Compresses the block on this thread and writes it.
    fn pack_here(&mut self) -> Result<(), OutputError> {
        let Some(blocks) = &mut self.blocks else {
            return Ok(());
        };
        blocks.filled += 1;
        let packed = blocks.packer.pack(&blocks.block);
        blocks.block.clear();
        let packed = packed.map_err(|error| OutputError::new(&self.name, "compress", error))?;
        self.output()?.write_all(&mut [IoSlice::new(&packed)])
    }
}
