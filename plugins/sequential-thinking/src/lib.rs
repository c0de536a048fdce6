//! The plugin `sequential-thinking`: a place for a model to think in steps, which it can revise and branch.
//!
//! Its tool takes the same arguments and gives the same answers as that of the npm package
//! `@modelcontextprotocol/server-sequential-thinking`, so it can stand in for that one. `thought` reads a step,
//! `history` remembers how many there were.
#![forbid(unsafe_code)]

use std::time::SystemTime;

use moongate_sdk::prelude::*;
use schemars::JsonSchema;
use serde::Serialize;

mod history;
mod thought;

use history::Progress;
use thought::{SCHEMA, Thought};

/// The plugin.
#[derive(Debug, Default)]
pub struct SequentialThinking;

/// Where the thinking stands.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct Standing {
    /// The number of this thought.
    #[schemars(with = "f64")]
    thought_number: u64,
    /// How many there will be, by the latest estimate.
    #[schemars(with = "f64")]
    total_thoughts: u64,
    /// Whether another one is needed.
    next_thought_needed: bool,
    /// The branches so far.
    branches: Vec<String>,
    /// How many thoughts there were so far, on all branches.
    #[schemars(with = "f64")]
    thought_history_length: u64,
}

/// Thinking in steps that can be revised and branched.
#[plugin(name = "sequential-thinking", title = "Sequential Thinking")]
impl SequentialThinking {
    /// Think a problem through, one thought a call.
    ///
    /// Use it where the way isn't clear from the start: to break a problem down, to plan with room for changes, to
    /// analyse what may need another course, to keep a thread over many steps, to leave aside what doesn't matter.
    ///
    /// How to think with it:
    /// 1. Begin with thought 1 and an estimate of how many it will take. Change `totalThoughts` whenever the estimate
    ///    does; a thought beyond it raises it.
    /// 2. A thought may be a step, a doubt, a question about an earlier decision, a finding that more is needed, a
    ///    hypothesis, or the check of one.
    /// 3. To take back an earlier thought, set `isRevision` and say which one in `revisesThought`.
    /// 4. To try another way, set `branchFromThought` to the thought where it leaves, and name the way in `branchId`.
    /// 5. Form a hypothesis when you can, check it against the thoughts before it, and go on until it holds.
    /// 6. Set `nextThoughtNeeded` to false only when you have an answer that satisfies you. Where the end turns out not to
    ///    be one, set `needsMoreThoughts` and go on.
    #[tool(
        title = "Sequential Thinking",
        read_only,
        destructive = false,
        idempotent,
        open_world = false,
        input_schema = SCHEMA
    )]
    fn sequentialthinking(&self, ctx: &Context, args: &Thought) -> Pretty<Standing> {
        log::debug(args);
        let Progress { branches, length } = history::add(ctx, args, SystemTime::now());
        Pretty(Standing {
            thought_number: args.number,
            total_thoughts: args.total.max(args.number),
            next_thought_needed: args.next_needed,
            branches,
            thought_history_length: length,
        })
    }
}

#[cfg(test)]
mod tests;
