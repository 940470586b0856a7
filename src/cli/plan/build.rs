//! The library's pipeline, source and sink for a plan.

use std::path::PathBuf;

use inorder::{Builder, Pipeline, Sink, Source};

use super::Plan;
use crate::cli::names::{InputName, OutputName};

impl Plan {
    /// The library's pipeline for this plan, but for its observer.
    pub fn pipeline(&self) -> Builder {
        let mut builder = self.trial();
        if let Some(resume) = &self.resume {
            builder = builder.resume(resume.clone());
        }
        if let Some(rate) = self.rate {
            builder = builder.rate(rate.records, rate.per);
        }
        builder
    }

    /// The same for a look at the inputs before the run: at full speed, and nothing is kept of it.
    pub fn trial(&self) -> Builder {
        let mut builder = self.trial_of_text().decompress(self.decompress);
        if let Some(encoding) = self.encoding {
            builder = builder.encoding(encoding);
        }
        if let Some(encoding) = self.output_encoding {
            builder = builder.output_encoding(encoding);
        }
        if let Some(bytes) = self.decoder_memory {
            builder = builder.decoder_memory(bytes);
        }
        builder
    }

    /// As [`trial`](Plan::trial), for inputs that are unpacked and decoded already.
    pub fn trial_of_text(&self) -> Builder {
        let mut builder = Pipeline::builder()
            .format(self.format.clone())
            .threads(self.run.threads)
            .skip_lines(self.skip_lines)
            .output_header(self.output_header)
            .sequential(self.run.sequential)
            .blank_lines(self.blank_lines)
            .preamble(self.preamble);
        builder = self.failures.set(builder);
        if let Some(format) = &self.output_format {
            builder = builder.output_format(format.clone());
        }
        if let Some(bytes) = self.stack_size {
            builder = builder.stack_size(bytes);
        }
        if let Some(bytes) = self.run.memory {
            builder = builder.memory(bytes);
        }
        if let Some(bytes) = self.run.chunk_size {
            builder = builder.chunk_size(bytes);
        }
        if let Some(records) = self.run.records {
            builder = builder.chunk_records(records);
        }
        if let Some(bytes) = self.run.max_record_size {
            builder = builder.max_record_size(bytes);
        }
        if let Some(records) = self.limit {
            builder = builder.limit(records);
        }
        if self.map {
            builder = mapped(builder);
        }
        builder
    }

    /// Whether what the work writes is encoded.
    pub fn encodes(&self) -> bool {
        self.encoding.is_some() || self.output_encoding.is_some()
    }

    /// The library's sink for a result of that name.
    pub fn sink(&self, name: &OutputName) -> Sink<'static> {
        let sink = match name {
            OutputName::Stdout => Sink::stdout(),
            OutputName::Path(path) => Sink::file(path),
        };
        match self.compress {
            Some(compress) => sink.compress(compress),
            None => sink,
        }
    }

    /// The library's source for this plan.
    pub fn source(&self) -> Source<'static> {
        let none = Source::files(std::iter::empty::<PathBuf>());
        self.inputs.iter().fold(none, |source, input| {
            source.then(match input {
                InputName::Stdin if self.seen.is_empty() => Source::stdin(),
                InputName::Stdin => Source::stdin_after(self.seen.clone()),
                InputName::Path(path) => Source::file(path),
            })
        })
    }
}

#[allow(unsafe_code)]
fn mapped(builder: Builder) -> Builder {
    // SAFETY: nobody can promise that the file stays as it is; the run checks its size and time before bytes leave and
    // before the output is published, and `guard_mapped_reads` in main turns a page that is gone into an error.
    unsafe { builder.memory_map(true) }
}
