//! Runs that can be continued.

use std::time::Duration;

/// Makes a run one that can be continued after it was killed, failed or stopped: see [`Builder::resume`](crate::Builder::resume).
///
/// ```
/// use inorder::Resume;
///
/// let resume = Resume::new("enrich v3").setting("table", "airports 2024-01-31");
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Resume {
    pub(crate) settings: Vec<(String, String)>,
    pub(crate) restart: bool,
    pub(crate) every: Duration,
}

/// As much work may have to be done again after a kill.
const EVERY: Duration = Duration::from_secs(2);

impl Resume {
    /// The key stands for the work: change it when the work gives other bytes than before. A run that finds another key in what an
    /// earlier one left is refused.
    pub fn new(key: impl Into<String>) -> Resume {
        Resume {
            settings: vec![("key".to_owned(), key.into())],
            restart: false,
            every: EVERY,
        }
    }

    /// Something else that the output depends on, by a name that the refusal tells.
    #[must_use]
    pub fn setting(mut self, name: impl Into<String>, value: impl Into<String>) -> Resume {
        self.settings.push((name.into(), value.into()));
        self
    }

    /// Throws away what an earlier run left, and begins anew. Default: no.
    #[must_use]
    pub fn restart(mut self, restart: bool) -> Resume {
        self.restart = restart;
        self
    }

    /// How often the state is saved, at most; what was done since then is done again after a kill. A stop or a failure saves it too.
    /// Default: 2 s.
    #[must_use]
    pub fn every(mut self, time: Duration) -> Resume {
        self.every = time;
        self
    }
}

impl From<&str> for Resume {
    fn from(key: &str) -> Resume {
        Resume::new(key)
    }
}

impl From<String> for Resume {
    fn from(key: String) -> Resume {
        Resume::new(key)
    }
}
