//! Records with bytes that mean nothing in the input's encoding: they fail, and what is between them is worked on.

use super::attempt::Attempt;
use super::so_far::Part;
use crate::frame::Chunk;
use crate::process::Process;

impl<P: Process> Attempt<'_, P> {
    /// A part of the whole chunk in parts, the first one last: each malformed record alone, and what is between them.
    pub(super) fn without_malformed(&self, whole: &Chunk<'_>, part: Part) -> Vec<Part> {
        let place = &self.framed.place;
        let at = |offset: u64| (offset - place.offset) as usize;
        let mut malformed = place.malformed.iter().peekable();
        let mut parts = Vec::new();
        let mut rest = part;
        if malformed.peek().is_some() {
            let end = rest.range.end;
            let spans = whole.spans().take_while(|span| span.start < end);
            for (span, index) in spans.zip(0..) {
                let Some(bad) = malformed.next_if(|bad| at(bad.at) < span.end) else {
                    continue;
                };
                while malformed.next_if(|bad| at(bad.at) < span.end).is_some() {}
                let before = rest.until(span.start, index - rest.index);
                let after = rest.from(span.end, index + 1 - rest.index);
                parts.extend((!before.range.is_empty()).then_some(before));
                parts.push(Part {
                    malformed: Some(*bad),
                    ..Part::new(span.start..span.end, index, 1)
                });
                rest = after;
            }
        }
        parts.extend((!rest.range.is_empty()).then_some(rest));
        parts.reverse();
        parts
    }
}
