//! Lists and resources that change. The plugin stores a counter for each. The changing item is listed while its
//! counter is odd.

use moongate_sdk::kv::KvError;
use moongate_sdk::prelude::*;

/// A list or resource that can change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum ChangingPart {
    Tools,
    Prompts,
    Resources,
    /// The watched resource.
    Watched,
}

impl ChangingPart {
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "changes-of-tools",
            Self::Prompts => "changes-of-prompts",
            Self::Resources => "changes-of-resources",
            Self::Watched => "changes-of-watched",
        }
    }

    /// The number of changes. 0 if state isn't granted.
    pub(crate) fn count(self) -> i64 {
        kv::get(self.key()).ok().flatten().unwrap_or_default()
    }

    /// Returns `true` if the changing item is listed.
    pub(crate) fn is_odd(self) -> bool {
        self.count() % 2 == 1
    }

    /// Increments the counter and reports the change.
    pub(crate) fn change(self) -> Result<String, KvError> {
        let count = kv::increment(self.key(), 1)?;
        match self {
            Self::Tools => changes::tools(),
            Self::Prompts => changes::prompts(),
            Self::Resources => changes::resources(),
            Self::Watched => changes::resource("test://watched-resource"),
        }
        Ok(format!("Changed {count} times"))
    }
}
