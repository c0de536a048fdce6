//! Lists and resources that change: each change adds one to a number that the plugin keeps, and what depends on it is
//! listed while the number is odd.

use moongate_sdk::kv::KvError;
use moongate_sdk::prelude::*;

/// What can change.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Part {
    Tools,
    Prompts,
    Resources,
    /// The watched resource.
    Watched,
}

impl Part {
    fn key(self) -> &'static str {
        match self {
            Self::Tools => "changes-of-tools",
            Self::Prompts => "changes-of-prompts",
            Self::Resources => "changes-of-resources",
            Self::Watched => "changes-of-watched",
        }
    }

    /// How often it changed; never, where the plugin may keep nothing.
    pub(crate) fn count(self) -> i64 {
        kv::get(self.key()).ok().flatten().unwrap_or_default()
    }

    /// Is the entry listed that comes and goes?
    pub(crate) fn is_odd(self) -> bool {
        self.count() % 2 == 1
    }

    /// Changes it and tells the gateway.
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
