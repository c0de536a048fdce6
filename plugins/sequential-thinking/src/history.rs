//! The history of earlier thoughts: their number and the names of their branches, but never their text.
//!
//! The official server keeps it in its process, which serves one client. Here each call has its own sandbox, so the
//! history is in the plugin's state: separate for each caller and program, and until a pause, because there is no
//! signal for the end of a conversation.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_sdk::kv::{self, KvError};
use moongate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::thought::Thought;

/// The key, followed by the caller's name if there is one.
const KEY: &str = "thoughts";

/// A history without a thought for this time has ended.
const HISTORY_TIMEOUT: Duration = Duration::from_secs(60 * 60);

/// The maximum number of histories of a caller. The least recently used are removed first, because programs choose
/// their own names.
const MAX_PROGRAMS: usize = 16;

/// The maximum size of all branch names in a history, in bytes. The oldest are removed first.
const MAX_BRANCH_BYTES: usize = 32 << 10;

/// The maximum length of a program's name, in characters.
const MAX_NAME_CHARACTERS: usize = 100;

/// The progress of the thinking.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The branches so far, in the order in which they started.
    pub(crate) branches: Vec<String>,
    /// The number of thoughts so far.
    pub(crate) length: u64,
}

/// The thoughts of a program for a caller.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct History {
    program: String,
    /// The time of the last thought, in seconds since 1970.
    at: u64,
    length: u64,
    branches: Vec<String>,
}

/// Adds a thought and returns the progress.
///
/// If nothing can be stored, the progress is that of this thought alone: its number and branch.
pub(crate) fn add(ctx: &Context, thought: &Thought, now: SystemTime) -> Progress {
    let key = ctx.principal().map_or_else(|| KEY.to_owned(), |caller| format!("{KEY}/{caller}"));
    let program: String = ctx
        .client()
        .map(|client| client.name.chars().take(MAX_NAME_CHARACTERS).collect())
        .unwrap_or_default();
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let kept =
        kv::update(&key, |old: Option<Vec<History>>| added(old.unwrap_or_default(), &program, thought, now));
    match kept.map(|mut histories| histories.pop()) {
        Ok(Some(History { length, branches, .. })) => return Progress { branches, length },
        Ok(None) | Err(KvError::NotGranted) => {} // the gateway logs the missing grant
        Err(error) => log::warning(format_args!("cannot store this thought: {error}")),
    }
    Progress { branches: thought.branch().map(str::to_owned).into_iter().collect(), length: thought.number }
}

/// The histories with one more thought. Its own history is last.
fn added(mut all: Vec<History>, program: &str, thought: &Thought, now: u64) -> Vec<History> {
    // A clock that was set back must not keep a history forever.
    all.retain(|history| history.at.abs_diff(now) < HISTORY_TIMEOUT.as_secs());
    let known = all.iter().position(|history| history.program == program);
    let mut history = match known {
        Some(index) => all.remove(index),
        None => History { program: program.to_owned(), ..History::default() },
    };
    history.at = now;
    history.length += 1;
    if let Some(name) = thought.branch()
        && !history.branches.iter().any(|known| known == name)
    {
        history.branches.push(name.to_owned());
    }
    while history.branches.iter().map(String::len).sum::<usize>() > MAX_BRANCH_BYTES {
        history.branches.remove(0);
    }
    let surplus = (all.len() + 1).saturating_sub(MAX_PROGRAMS);
    all.drain(..surplus);
    all.push(history);
    all
}

#[cfg(test)]
mod tests;
