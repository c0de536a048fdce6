//! The plugin `sequential-thinking`: lets a model think in steps, with revisions and branches.
//!
//! The tool has the same arguments and results as that of the npm package
//! `@modelcontextprotocol/server-sequential-thinking`, so the plugin can replace it. `thought` parses a step,
//! `history` counts them.
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

/// The state of the thinking.
#[derive(Debug, Serialize, JsonSchema)]
#[serde(rename_all = "camelCase")]
struct ThinkingState {
    /// The number of this thought.
    #[schemars(with = "f64")]
    thought_number: u64,
    /// The current estimate of the total number of thoughts.
    #[schemars(with = "f64")]
    total_thoughts: u64,
    /// `true` if another thought is needed.
    next_thought_needed: bool,
    /// The branches so far.
    branches: Vec<String>,
    /// The number of thoughts so far, on all branches.
    #[schemars(with = "f64")]
    thought_history_length: u64,
}

/// Think through problems in steps that can be revised and branched.
#[plugin(name = "sequential-thinking", title = "Sequential Thinking")]
impl SequentialThinking {
    /// Think through a problem step by step, one thought per call.
    ///
    /// Use it for problems whose solution isn't clear from the start: to break down a problem, to plan with room for
    /// revision, to correct your course during an analysis, to keep context over many steps, or to filter out
    /// irrelevant information.
    ///
    /// How to use it:
    /// 1. Start with thought 1 and an estimate in `totalThoughts`. Adjust the estimate as you go; a thought number
    ///    above it raises it.
    /// 2. A thought can be an analysis step, a doubt, a question about an earlier decision, a realization that more
    ///    is needed, a hypothesis, or its verification.
    /// 3. To revise an earlier thought, set `isRevision` and its number in `revisesThought`.
    /// 4. To explore an alternative, set `branchFromThought` to the thought where it starts, and name it in
    ///    `branchId`.
    /// 5. Form a hypothesis when you can, verify it against earlier thoughts, and repeat until you are satisfied.
    /// 6. Set `nextThoughtNeeded` to false only when you have a satisfactory answer. If you reach the end but need
    ///    more, set `needsMoreThoughts` and continue.
    #[tool(
        title = "Sequential Thinking",
        read_only,
        destructive = false,
        idempotent,
        open_world = false,
        input_schema = SCHEMA
    )]
    fn sequentialthinking(&self, ctx: &Context, args: &Thought) -> Pretty<ThinkingState> {
        log::debug(args);
        let Progress { branches, length } = history::add(ctx, args, SystemTime::now());
        Pretty(ThinkingState {
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
