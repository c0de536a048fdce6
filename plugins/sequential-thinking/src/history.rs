//! What is remembered of earlier thoughts: how many there were, and the names of their branches; never their text.
//!
//! The official server remembers in its process, which one client has to itself. A call here has a sandbox to itself, so
//! it is remembered in the plugin's state: for each caller and program apart, and until they pause, because nobody tells
//! when a conversation ends.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use moongate_sdk::kv::{self, KvError};
use moongate_sdk::prelude::*;
use serde::{Deserialize, Serialize};

use crate::thought::Thought;

/// Under which key, with the caller's name after it where it has one.
const KEY: &str = "thoughts";

/// A history to which nothing came for so long is over.
const PAUSE: Duration = Duration::from_secs(60 * 60);

/// Histories of one caller, those that were longest without a thought go first: programs choose their names themselves.
const PROGRAMS: usize = 16;

/// The bytes of all names of branches in a history; the oldest go first.
const BRANCHES: usize = 32 << 10;

/// The characters of a program's name that count.
const NAME: usize = 100;

/// How far the thinking has come.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Progress {
    /// The branches so far, in the order in which they began.
    pub(crate) branches: Vec<String>,
    /// How many thoughts there were so far.
    pub(crate) length: u64,
}

/// The thoughts of one program for one caller.
#[derive(Debug, Default, Clone, Serialize, Deserialize)]
struct History {
    program: String,
    /// When the last one came, in seconds since 1970.
    at: u64,
    length: u64,
    branches: Vec<String>,
}

/// Remembers a thought; gives back how far the thinking has come with it.
///
/// Where nothing can be remembered, that is what the thought says itself: its number, and its branch.
pub(crate) fn add(ctx: &Context, thought: &Thought, now: SystemTime) -> Progress {
    let key = ctx.principal().map_or_else(|| KEY.to_owned(), |caller| format!("{KEY}/{caller}"));
    let program: String =
        ctx.client().map(|client| client.name.chars().take(NAME).collect()).unwrap_or_default();
    let now = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let kept =
        kv::update(&key, |old: Option<Vec<History>>| added(old.unwrap_or_default(), &program, thought, now));
    match kept.map(|mut histories| histories.pop()) {
        Ok(Some(History { length, branches, .. })) => return Progress { branches, length },
        Ok(None) | Err(KvError::NotGranted) => {} // the gateway's log names the cure
        Err(error) => log::warning(format_args!("this thought isn't remembered: {error}")),
    }
    Progress { branches: thought.branch().map(str::to_owned).into_iter().collect(), length: thought.number }
}

/// The histories with one more thought; its own history comes last.
fn added(mut all: Vec<History>, program: &str, thought: &Thought, now: u64) -> Vec<History> {
    // A clock that was put back must not make a history last for ever.
    all.retain(|history| history.at.abs_diff(now) < PAUSE.as_secs());
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
    while history.branches.iter().map(String::len).sum::<usize>() > BRANCHES {
        history.branches.remove(0);
    }
    let surplus = (all.len() + 1).saturating_sub(PROGRAMS);
    all.drain(..surplus);
    all.push(history);
    all
}

#[cfg(test)]
mod tests;
