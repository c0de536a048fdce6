//! Calls to a plugin, round by round.

use serde_json::Value;

use super::{Client, missing_answers, schema_check};
use crate::host::fake;
use crate::host::fake::rounds::{self as watch, RoundEnd};
use crate::{
    CallOutcome, Completion, CompletionTarget, Failure, NeedInput, Plugin, PluginInfo, Prompt, PromptOutcome,
    PromptResult, ReadOutcome, ReadResult, ResourceInfo, ResourceTemplate, Tool, ToolResult, rounds,
};

/// The maximum number of rounds of a call: the first, and one for each of the 8 times that a gateway asks the client.
const MAX_ROUNDS: usize = 9;

impl<P: Plugin> Client<P> {
    /// The plugin's metadata.
    #[must_use]
    pub fn info(&self) -> PluginInfo {
        P::info()
    }

    /// Lists the tools.
    ///
    /// # Panics
    /// The plugin fails to list them.
    #[must_use]
    #[track_caller]
    pub fn tools(&self) -> Vec<Tool> {
        listed("tools", self.run(P::tools))
    }

    /// Calls a tool.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The tool asks a question that has no [`answer`](Self::answer), or does something that it must not; see
    /// [`testing`](crate::testing).
    #[track_caller]
    pub fn call(&self, name: &str, args: Value) -> Result<ToolResult, Failure> {
        match self.call_outcome(name, args)? {
            CallOutcome::Done(result) => Ok(result),
            CallOutcome::NeedInput(input) => self.unanswered(&input),
        }
    }

    /// Calls a tool. Returns the questions if they have no [`answer`](Self::answer).
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The tool does something that it must not; see [`testing`](crate::testing).
    #[expect(clippy::needless_pass_by_value, reason = "`json!(…)` is written in the call")]
    #[track_caller]
    pub fn call_outcome(&self, name: &str, args: Value) -> Result<CallOutcome, Failure> {
        let args = args.to_string();
        let outcome = self.rounds(
            || rounds::call_tool::<P>(name, &args),
            |outcome| match outcome {
                CallOutcome::Done(_) => None,
                CallOutcome::NeedInput(input) => Some(input),
            },
        )?;
        if let CallOutcome::Done(result) = &outcome {
            self.check_result(name, result);
        }
        Ok(outcome)
    }

    /// Lists the resources.
    ///
    /// # Panics
    /// The plugin fails to list them.
    #[must_use]
    #[track_caller]
    pub fn resources(&self) -> Vec<ResourceInfo> {
        listed("resources", self.run(P::resources))
    }

    /// Lists the resource templates.
    ///
    /// # Panics
    /// The plugin fails to list them.
    #[must_use]
    #[track_caller]
    pub fn templates(&self) -> Vec<ResourceTemplate> {
        listed("templates", self.run(P::templates))
    }

    /// Reads a resource.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The resource asks a question that has no [`answer`](Self::answer).
    #[track_caller]
    pub fn read(&self, uri: &str) -> Result<ReadResult, Failure> {
        match self.read_outcome(uri)? {
            ReadOutcome::Done(result) => Ok(result),
            ReadOutcome::NeedInput(input) => self.unanswered(&input),
        }
    }

    /// Reads a resource. Returns the questions if they have no [`answer`](Self::answer).
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    #[track_caller]
    pub fn read_outcome(&self, uri: &str) -> Result<ReadOutcome, Failure> {
        self.rounds(
            || rounds::read_resource::<P>(uri),
            |outcome| match outcome {
                ReadOutcome::Done(_) => None,
                ReadOutcome::NeedInput(input) => Some(input),
            },
        )
    }

    /// Lists the prompts.
    ///
    /// # Panics
    /// The plugin fails to list them.
    #[must_use]
    #[track_caller]
    pub fn prompts(&self) -> Vec<Prompt> {
        listed("prompts", self.run(P::prompts))
    }

    /// Gets a prompt.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    ///
    /// # Panics
    /// The prompt asks a question that has no [`answer`](Self::answer).
    #[track_caller]
    pub fn prompt(&self, name: &str, args: &[(&str, &str)]) -> Result<PromptResult, Failure> {
        match self.prompt_outcome(name, args)? {
            PromptOutcome::Done(result) => Ok(result),
            PromptOutcome::NeedInput(input) => self.unanswered(&input),
        }
    }

    /// Gets a prompt. Returns the questions if they have no [`answer`](Self::answer).
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    #[track_caller]
    pub fn prompt_outcome(&self, name: &str, args: &[(&str, &str)]) -> Result<PromptOutcome, Failure> {
        let args = owned(args);
        self.rounds(
            || rounds::get_prompt::<P>(name, &args),
            |outcome| match outcome {
                PromptOutcome::Done(_) => None,
                PromptOutcome::NeedInput(input) => Some(input),
            },
        )
    }

    /// Requests suggestions for an argument.
    ///
    /// # Errors
    /// The call ends in a JSON-RPC error.
    #[track_caller]
    pub fn complete(
        &self,
        target: &CompletionTarget,
        argument: &str,
        typed: &str,
        others: &[(&str, &str)],
    ) -> Result<Completion, Failure> {
        let others = owned(others);
        self.run(|plugin| plugin.complete(target, argument, typed, &others))
    }

    /// Checks the result against the tool's output schema.
    #[track_caller]
    fn check_result(&self, name: &str, result: &ToolResult) {
        let structured = match result.structured.as_deref().map(serde_json::from_str::<Value>) {
            None => None,
            Some(Ok(value)) => Some(value),
            Some(Err(error)) => panic!(
                "the structured content of `{name}` isn't valid JSON ({error}); a gateway would reject the result"
            ),
        };
        if result.failed() {
            return;
        }
        let tools = self.run(P::tools).unwrap_or_default();
        let schema = tools.into_iter().find(|tool| tool.name == name).and_then(|tool| tool.output_schema);
        let Some(schema) = schema.and_then(|text| serde_json::from_str(&text).ok()) else { return };
        if let Some(value) = &structured {
            if let Some(problem) = schema_check::mismatch(&schema, value) {
                panic!(
                    "the structured content of `{name}` doesn't match its output schema: {problem}; a gateway would reject \
                     the result"
                );
            }
        } else {
            panic!(
                "`{name}` has an output schema, but its result has no structured content, so a gateway would reject \
                 it; return `Json<T>`, or add it with `ToolResult::with_structured`"
            );
        }
    }

    #[track_caller]
    fn unanswered(&self, input: &NeedInput) -> ! {
        panic!("{}", missing_answers::answers(&input.requests, self.answers.keys().map(String::as_str)))
    }

    /// Runs a call round by round, until it is done or asks a question without an answer.
    #[track_caller]
    fn rounds<R>(
        &self,
        call: impl Fn() -> Result<R, Failure>,
        asks: impl Fn(&R) -> Option<&NeedInput>,
    ) -> Result<R, Failure> {
        let mut gateway = self.gateway.borrow_mut();
        gateway.answers.clear();
        gateway.asked.clear();
        gateway.state = None;
        for _ in 0..MAX_ROUNDS {
            gateway.round = watch::Round::default();
            let end = fake::with(&mut gateway, &call);
            let input = end.as_ref().ok().and_then(&asks);
            let asks = if input.is_some() { RoundEnd::Something } else { RoundEnd::Nothing };
            if let Some(problem) = watch::check_end(&gateway.round, asks) {
                panic!("{problem}");
            }
            let Some(input) = input else { return end };
            for request in &input.requests {
                let Some(answer) = self.answers.get(&request.key) else { return end };
                let answer = answer(request);
                if let Some(problem) = missing_answers::wrong_answer(request, &answer) {
                    panic!("{problem}");
                }
                gateway.answers.insert(request.key.clone(), answer.to_string());
            }
            gateway.state.clone_from(&input.state);
        }
        panic!("the call isn't done after {MAX_ROUNDS} rounds, the limit of a gateway");
    }
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    pairs.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

/// Returns the list, or panics with the reason why there is none.
#[track_caller]
fn listed<T>(what: &str, list: Result<Vec<T>, Failure>) -> Vec<T> {
    match list {
        Ok(list) => list,
        Err(failure) => panic!("the plugin failed to list its {what}: {failure}"),
    }
}
