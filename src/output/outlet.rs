//! The ordered bytes' way to the output: as they are, or cut into blocks that are compressed.

use std::borrow::Cow;
use std::fs::File;
use std::io::IoSlice;
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(unix)]
use super::checkpoint::{FileState, OutputState};
use super::pack::{BLOCK, Compress, Packer};
#[cfg(unix)]
use super::part::Part;
use super::{Output, OutputError, pieces};
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

    /// Waits until all blocks are written. What the file holds then, if a later run can go on with it.
    ///
    /// # Errors
    /// The output failed, or the run is stopped.
    #[cfg(unix)]
    fn settle(&mut self) -> Result<Option<FileState>, OutputError>;
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

    /// How the output is compressed, if it is.
    #[cfg(unix)]
    pub fn compress(&self) -> Option<Compress> {
        self.blocks.as_ref().map(|blocks| blocks.packer.compress())
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

    /// Writes what has this checksum, by one call of `write` or several.
    pub fn write_summed(
        &mut self,
        sum: u32,
        write: impl FnOnce(&mut Self) -> Result<(), OutputError>,
    ) -> Result<(), OutputError> {
        if self.blocks.is_some() {
            return write(self);
        }
        self.output()?.begin_summed();
        write(self)?;
        self.output()?.end_summed(sum);
        Ok(())
    }

    /// The file, if a later run can go on with it and no other thread writes to it.
    #[cfg(unix)]
    pub fn part(&self) -> Option<&Part> {
        self.output.as_ref()?.part()
    }

    /// What a later run needs to go on, if it can. Waits until all full blocks are written.
    #[cfg(unix)]
    pub fn state(&mut self) -> Result<Option<OutputState>, OutputError> {
        let lane = self.blocks.as_mut().and_then(|blocks| blocks.lane.as_mut());
        let file = match (&self.output, lane) {
            (Some(output), _) => output.part().map(Part::state),
            (None, Some(lane)) => lane.settle()?,
            (None, None) => None,
        };
        let pending = self.blocks.as_ref().map(|blocks| blocks.block.clone());
        Ok(file.map(|file| OutputState {
            file,
            pending: pending.unwrap_or_default(),
        }))
    }

    /// Goes on with an output in this state.
    #[cfg(unix)]
    pub fn take_up(&mut self, state: &OutputState) {
        if let Some(blocks) = &mut self.blocks {
            blocks.block.clone_from(&state.pending);
            blocks.filled = u64::from(state.file.length > 0);
        }
    }

    /// See [`Output::copy_from`].
    pub fn copy_from(&mut self, file: &mut File, len: u64) -> Result<(), OutputError> {
        if self.blocks.is_none() {
            return self.output()?.copy_from(file, len);
        }
        pieces(file, len, |piece| {
            self.write_all(&mut [IoSlice::new(piece)])
        })
    }

    /// Hands on what is kept back, a block that is not full too: for the end of a run that failed, unless a later one is to go on with it.
    pub fn flush(&mut self) -> Result<(), OutputError> {
        #[cfg(unix)]
        if self.part().is_some() {
            return Ok(());
        }
        let due = |blocks: &Blocks| !blocks.block.is_empty();
        if self.output.is_some() && self.blocks.as_ref().is_some_and(due) {
            self.pack_here()?;
        }
        match &mut self.output {
            Some(output) => output.flush(),
            None => Ok(()),
        }
    }

    /// Nothing more comes: compresses the last block.
    pub fn complete(&mut self) -> Result<(), OutputError> {
        let due = |blocks: &Blocks| !blocks.block.is_empty() || blocks.filled == 0;
        // An output of nothing is one empty member.
        if self.blocks.as_ref().is_some_and(due) {
            self.pack_here()?;
        }
        Ok(())
    }

    /// See [`Output::finish`]. A part is [complete](Outlet::complete) by then, or left for a later run.
    pub fn finish(mut self) -> Result<(), OutputError> {
        #[cfg(unix)]
        if self.part().is_some() {
            return Ok(());
        }
        self.complete()?;
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
