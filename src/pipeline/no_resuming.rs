//! Stands for `resuming` on systems where runs can't be resumed; building a pipeline with that setting is refused there.

use std::sync::Arc;

use super::ordered::Ordered;
use super::settings::Settings;
use super::stages::Outputs;
use crate::buffer::BufferSettings;
use crate::control::Control;
use crate::error::Error;
use crate::frame::{GoOn, InputInfo};
use crate::input::Origin;
use crate::output::Sink;
use crate::output::checkpoint::Checkpoint;
use crate::process::Process;
use crate::resume::Resume;
use crate::summary::Summary;

/// There is none.
pub(super) enum Resuming {}

pub(super) struct Resumed {
    pub resuming: Resuming,
    pub from: Option<Checkpoint>,
}

#[allow(dead_code)]
pub(super) enum Found<'a> {
    Run(Box<Outputs<'a>>),
    Published(Box<Summary>),
}

pub(super) fn open<'a>(
    _: &Settings,
    _: &Resume,
    _: &[Origin<'_>],
    _: &Sink<'a>,
    _: &Arc<Control>,
) -> Result<Found<'a>, Error> {
    unreachable!("refused when the pipeline was built")
}

pub(super) fn place_to_go_on(_: &Checkpoint) -> Option<GoOn> {
    None
}

impl<P: Process> Ordered<'_, P> {
    pub fn keep_state(&mut self, resuming: Resuming) {
        match resuming {}
    }

    pub fn go_on(
        &mut self,
        _: &Checkpoint,
        _: Option<&InputInfo>,
        _: &Arc<BufferSettings>,
    ) -> Result<(), Error> {
        unreachable!("refused when the pipeline was built")
    }
}
