//! What an earlier run left: looked at, checked, and taken up; or nothing, and a new run begins.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

use super::{Found, Resumed, Resuming, cannot, check_inputs, encode, end, place_of, refused};
use crate::control::Control;
use crate::error::{Error, escaped};
use crate::output::checkpoint::{
    Checkpoint, FileState, OutputState, Place as InputPlace, RejectsState, State,
};
use crate::output::keeper::Keeper;
use crate::output::pack::{Compress, Named};
use crate::output::part::{Part, PartError, holds};
use crate::output::store::{Store, StoreError};
use crate::output::target::Place;
use crate::output::{Fault, OpenRejects, Output, Rejects};
use crate::pipeline::failures::Failures;
use crate::pipeline::messages::output_error;
use crate::pipeline::settings::Settings;
use crate::pipeline::stages::Outputs;
use crate::summary::{Counters, Summary};

/// A run that is about to begin, or to go on.
pub(super) struct Opening {
    pub path: PathBuf,
    pub compress: Option<Compress>,
    pub store: Store,
    pub files: Files,
    pub settings: Vec<(String, String)>,
    pub every: Duration,
    /// A stop ends the reading of what is there too.
    pub control: Arc<Control>,
}

/// The places of the output and of the rejects.
pub(super) struct Files {
    output: Place,
    rejects: Option<RejectsFiles>,
}

struct RejectsFiles {
    path: PathBuf,
    compress: Option<Compress>,
    records: Place,
    errors: Place,
}

impl Files {
    pub fn of(path: &Path, output: Place, rejects: Option<&Rejects>) -> Result<Files, Error> {
        let rejects = rejects.map(|rejects| match rejects.path() {
            Some(path) => RejectsFiles::at(path, rejects.compression()),
            None => {
                let what = "a run can be resumed only if its rejects go to files";
                Err(cannot(what).path(path))
            }
        });
        let files = Files {
            output,
            rejects: rejects.transpose()?,
        };
        files.refuse_clashes(path)?;
        Ok(files)
    }

    /// None of the files that a run makes may be another of them.
    fn refuse_clashes(&self, path: &Path) -> Result<(), Error> {
        let of = |place: &Place, ends: &[&str]| -> Vec<(Option<(u64, u64)>, OsString)> {
            let named = |end: &&str| {
                let mut name = place.name.clone();
                name.push(end);
                (place.folder_identity(), name)
            };
            ends.iter().map(named).collect()
        };
        let mut all = of(&self.output, &["", ".part", ".checkpoint"]);
        for rejects in self.rejects.iter() {
            for place in [&rejects.records, &rejects.errors] {
                let names = of(place, &["", ".part"]);
                if names.iter().any(|name| all.contains(name)) {
                    let what = "the files of the output and of the rejects have a name in common";
                    return Err(cannot(what).path(path));
                }
                all.extend(names);
            }
        }
        Ok(())
    }
}

impl RejectsFiles {
    fn at(path: &Path, compress: Option<Compress>) -> Result<RejectsFiles, Error> {
        Ok(RejectsFiles {
            path: path.to_owned(),
            compress,
            records: place_of(path)?,
            errors: place_of(&Rejects::errors_path(path))?,
        })
    }
}

impl Opening {
    pub fn open<'a>(mut self, settings: &Settings, restart: bool) -> Result<Found<'a>, Error> {
        // The lock first: while another run has it, what is there is not looked at.
        let part = Part::find(&self.files.output);
        let part = part.map_err(|error| self.part_error(&self.files.output, error))?;
        let left = self.store.load();
        let left = left.map_err(|fault| output_error(fault.of(&self.store.path())))?;
        match left {
            None => match part {
                Some(part) => Err(not_ours(&part)),
                None => self.begin(settings),
            },
            Some(left) if restart => {
                let rejects = left.ok().and_then(|left| left.rejects);
                self.throw_away(part, rejects.as_ref())?;
                self.begin(settings)
            }
            Some(Err(garbled)) => Err(refused(&self.store.path(), garbled.to_string())),
            Some(Ok(from)) => {
                let published = match from.state {
                    State::Running => None,
                    State::Publishing => Some(&self.files.output),
                    State::Untrusted => {
                        let what = "the run that left this found that its results may be wrong: it can only be restarted";
                        return Err(refused(&self.store.path(), what));
                    }
                };
                self.check_settings(&from)?;
                check_inputs(settings, &from, published, &self.control)?;
                if let Some(rejects) = &from.rejects {
                    self.files.rejects = Some(self.rejects_of(rejects)?);
                }
                match published {
                    None => self.go_on(settings, from, part),
                    Some(_) => self.publish(&from, part),
                }
            }
        }
    }

    /// Nothing is there: a new run.
    fn begin<'a>(self, settings: &Settings) -> Result<Found<'a>, Error> {
        self.refuse_rejects_of_others()?;
        let first = Checkpoint {
            version: env!("CARGO_PKG_VERSION").to_owned(),
            state: State::Running,
            settings: self.settings.clone(),
            inputs: Vec::new(),
            header: None,
            position: InputPlace::default(),
            output: OutputState::default(),
            rejects: self.new_rejects(),
            counters: Counters::default(),
            failing_runs: 0,
            run: Vec::new(),
        };
        let bytes = encode(&first).map_err(|fault| output_error(fault.of(&self.path)))?;
        match self.store.begin(&bytes) {
            Ok(()) => {}
            Err(StoreError::Busy) => {
                return Err(refused(&self.path, PartError::Busy.to_string()));
            }
            Err(StoreError::Fault(fault)) => return Err(output_error(fault.of(&self.path))),
        }
        self.go_on(settings, first, None)
    }

    /// Parts of the rejects must not be there before a checkpoint speaks of them.
    fn refuse_rejects_of_others(&self) -> Result<(), Error> {
        let places = self.files.rejects.iter();
        for place in places.flat_map(|rejects| [&rejects.records, &rejects.errors]) {
            let found = Part::find(place).map_err(|error| self.part_error(place, error))?;
            if let Some(part) = found {
                return Err(not_ours(&part));
            }
        }
        Ok(())
    }

    /// Takes up what an earlier run left.
    fn go_on<'a>(
        self,
        settings: &Settings,
        mut from: Checkpoint,
        part: Option<Part>,
    ) -> Result<Found<'a>, Error> {
        let rejects_are_new = from.rejects.is_none() && self.files.rejects.is_some();
        if rejects_are_new {
            self.refuse_rejects_of_others()?;
        }
        let output = self.take_up(&self.files.output, part, &from.output.file)?;
        if rejects_are_new {
            // They are new: a part of theirs must not be there without a word of it.
            from.rejects = self.new_rejects();
            let saved = encode(&from).and_then(|bytes| self.store.save(&bytes));
            saved.map_err(|fault| output_error(fault.of(&self.path)))?;
        }
        let rejects = match (&from.rejects, &self.files.rejects) {
            (Some(state), Some(files)) => {
                let [records, errors] = [
                    (&files.records, &state.records.file),
                    (&files.errors, &state.errors.file),
                ]
                .map(|(place, state)| {
                    let found = Part::find(place);
                    let found = found.map_err(|error| self.part_error(place, error))?;
                    self.take_up(place, found, state)
                });
                Some(([records?, errors?], files, state))
            }
            _ => None,
        };
        let mut descriptors = vec![output.descriptor()];
        if let Some((parts, ..)) = &rejects {
            descriptors.extend(parts.iter().map(Part::descriptor));
        }
        // As short as the name that was given.
        let shown = |path: PathBuf| path.strip_prefix(".").map_or(path.clone(), Path::to_owned);
        let (part, checkpoint) = (shown(output.path()), shown(self.store.path()));
        let keeper = descriptors
            .into_iter()
            .collect::<std::io::Result<Vec<_>>>()
            .and_then(|files| Keeper::start(self.store, files));
        let keeper =
            keeper.map_err(|error| output_error(Fault::new("keep", error).of(&self.path)))?;
        let output = Output::of_part(&self.path, output);
        let rejects = rejects.map(|(parts, files, state)| {
            OpenRejects::of_parts(&files.path, parts, state, files.compress)
        });
        let resuming = Resuming {
            path: self.path,
            part,
            checkpoint,
            settings: self.settings,
            every: self.every,
            saved: Instant::now(),
            keeper,
            begun: false,
            header: from.header,
        };
        Ok(Found::Run(Box::new(Outputs {
            output,
            compress: self.compress,
            failures: Failures::of(settings, rejects),
            resumed: Some(Resumed {
                resuming,
                from: (!from.inputs.is_empty()).then_some(from),
            }),
        })))
    }

    fn new_rejects(&self) -> Option<RejectsState> {
        let rejects = self.files.rejects.as_ref()?;
        Some(RejectsState {
            path: rejects.path.clone().into(),
            compress: rejects.compress.map(Compress::named),
            records: OutputState::default(),
            errors: OutputState::default(),
            lacks_end: false,
        })
    }

    /// The rejects of the run that is to go on.
    fn rejects_of(&self, state: &RejectsState) -> Result<RejectsFiles, Error> {
        let compress = state.compress.as_ref();
        let found = compress.map(|named| {
            let what = || {
                format!(
                    "its rejects are compressed by {}, which is not there",
                    named.0
                )
            };
            Compress::found(named).ok_or_else(|| refused(&self.store.path(), what()))
        });
        RejectsFiles::at(Path::new(&state.path), found.transpose()?)
    }

    fn take_up(&self, place: &Place, part: Option<Part>, state: &FileState) -> Result<Part, Error> {
        let taken = match part {
            Some(mut part) => {
                let taken = part.take_up(state, &|| self.control.was_told_to_stop());
                taken.map(|()| part)
            }
            None if state.length == 0 => Part::create(place),
            None => Err(PartError::Missing),
        };
        taken.map_err(|error| self.part_error(place, error))
    }

    /// An earlier run had written all: gives the files their names.
    fn publish<'a>(self, from: &Checkpoint, part: Option<Part>) -> Result<Found<'a>, Error> {
        let mut parts = Vec::new();
        if let (Some(state), Some(files)) = (&from.rejects, &self.files.rejects) {
            for (place, state) in [
                (&files.records, &state.records.file),
                (&files.errors, &state.errors.file),
            ] {
                let found = Part::find(place).map_err(|error| self.part_error(place, error))?;
                parts.extend(self.written(place, found, state)?);
            }
        }
        parts.extend(self.written(&self.files.output, part, &from.output.file)?);
        let settled = parts
            .iter()
            .try_for_each(|part| part.settle().and_then(|()| part.publish()))
            .and_then(|()| end(&self.store, &parts.iter().collect::<Vec<_>>()));
        settled.map_err(|fault| output_error(fault.of(&self.path)))?;
        Ok(Found::Published(Box::new(Summary::resumed(&from.counters))))
    }

    /// A file that is written whole: still under the name of its part, or under its own.
    fn written(
        &self,
        place: &Place,
        part: Option<Part>,
        state: &FileState,
    ) -> Result<Option<Part>, Error> {
        let fault = |error| self.part_error(place, error);
        let is_stopped = || self.control.was_told_to_stop();
        match part {
            Some(mut part) => {
                let taken = part.take_up(state, &is_stopped);
                taken.map(|()| Some(part)).map_err(fault)
            }
            None if holds(place, state, &is_stopped).map_err(fault)? => Ok(None),
            None => Err(fault(PartError::Missing)),
        }
    }

    fn check_settings(&self, from: &Checkpoint) -> Result<(), Error> {
        let lookup = |all: &[(String, String)], name: &str| {
            all.iter()
                .find(|(known, _)| known == name)
                .map(|(_, value)| value.clone())
        };
        for (name, now) in &self.settings {
            let then = lookup(&from.settings, name);
            if then.as_ref() != Some(now) {
                return Err(self.changed(name, then, Some(now.clone())));
            }
        }
        for (name, then) in &from.settings {
            if lookup(&self.settings, name).is_none() {
                return Err(self.changed(name, Some(then.clone()), None));
            }
        }
        match (&from.rejects, &self.files.rejects) {
            (Some(then), Some(now)) if then.path != now.path.as_os_str() => {
                let then = escaped(Path::new(&then.path));
                Err(self.changed("rejects", Some(then), Some(escaped(&now.path))))
            }
            (Some(then), Some(now)) if then.compress != now.compress.map(Compress::named) => {
                let then = then.compress.as_ref().map(Named::to_string);
                let now = now.compress.map(|compress| compress.named().to_string());
                Err(self.changed("rejects-compress", then, now))
            }
            _ => Ok(()),
        }
    }

    fn changed(&self, name: &str, then: Option<String>, now: Option<String>) -> Error {
        let shown = |value: Option<String>| match value {
            Some(value) => format!("{value:?}"),
            None => "not set".to_owned(),
        };
        let what = format!(
            "the run that is to go on was another one: {name} was {}, and is {}",
            shown(then),
            shown(now)
        );
        refused(&self.store.path(), what)
    }

    /// Removes what an earlier run left.
    fn throw_away(&self, part: Option<Part>, rejects: Option<&RejectsState>) -> Result<(), Error> {
        let mut parts = Vec::from_iter(part);
        let files = match rejects {
            Some(rejects) => Some(&RejectsFiles::at(Path::new(&rejects.path), None)?),
            // A checkpoint that can't be read may have spoken of these.
            None => self.files.rejects.as_ref(),
        };
        for place in files.into_iter().flat_map(|it| [&it.records, &it.errors]) {
            let found = Part::find(place).map_err(|error| self.part_error(place, error))?;
            parts.extend(found);
        }
        // The checkpoint last: without it the parts would be nobody's.
        let removed = parts
            .into_iter()
            .try_for_each(Part::remove)
            .and_then(|()| self.store.remove());
        removed.map_err(|fault| output_error(fault.of(&self.path)))
    }

    fn part_error(&self, place: &Place, error: PartError) -> Error {
        let path = place
            .folder
            .join(crate::output::part::part_name(&place.name));
        match error {
            PartError::Fault(fault) => output_error(fault.of(&path)),
            PartError::Stopped => Error::stopped(),
            PartError::Busy => refused(&self.path, PartError::Busy.to_string()),
            error => refused(&path, error.to_string()),
        }
    }
}

fn not_ours(part: &Part) -> Error {
    let what = format!("{}: remove it if nobody needs it", PartError::NotOurs);
    refused(&part.path(), what)
}
