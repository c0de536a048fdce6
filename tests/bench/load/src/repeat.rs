//! Repeats one request on several connections, as a neighbour of the calls that are measured. Its answers aren't checked,
//! because a hostile call can fail; the run counts them.

use std::cell::Cell;
use std::path::Path;
use std::rc::Rc;
use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::task::{JoinSet, LocalSet};

use crate::Plan;
use crate::http::{Client, endpoint};
use crate::message::Spec;

/// The request to repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Repeated {
    /// A call of the tool.
    Call,
    /// A request for the list of tools.
    List,
}

/// Runs the plan.
///
/// # Errors
/// The server can't be reached, or a request isn't answered.
pub(crate) async fn run(
    url: &str,
    spec: &Spec,
    plan: &Plan,
    repeated: Repeated,
    arguments: Option<&Path>,
) -> anyhow::Result<Value> {
    let (authority, path) = endpoint(url)?;
    let (head, body) = match repeated {
        Repeated::List => (spec.head(authority, path, "tools/list", None), spec.list(1)),
        Repeated::Call => {
            let arguments = match arguments {
                Some(file) => {
                    let text = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
                    serde_json::from_slice(&text).context("the arguments aren't JSON")?
                }
                None => json!({}),
            };
            (spec.head(authority, path, "tools/call", None), spec.call(1, &spec.tool, &arguments))
        }
    };
    ensure!(spec.stateless(), "only requests without a session are repeated");
    let end = Instant::now() + plan.time;
    let counted = Rc::new(Counted::default());
    let local = LocalSet::new();
    let mut connections = JoinSet::new();
    for _ in 0..plan.width {
        let mut client = Client::open(url, spec, plan.patience).await?;
        let (head, body, counted) = (head.clone(), body.clone(), Rc::clone(&counted));
        let repeating = async move {
            while Instant::now() < end {
                let (answer, body) = client.send(&head, body.as_bytes()).await?;
                counted.requests.set(counted.requests.get() + 1);
                counted.failures.set(counted.failures.get() + u64::from(answer.status != 200));
                counted.largest.set(counted.largest.get().max(body.len()));
            }
            anyhow::Ok(())
        };
        connections.spawn_local_on(repeating, &local);
    }
    local
        .run_until(async move {
            while let Some(ended) = connections.join_next().await {
                ended.context("a connection's task ended early")??;
            }
            anyhow::Ok(())
        })
        .await?;
    Ok(json!({
        "requests": counted.requests.get(),
        "failures": counted.failures.get(),
        "largest_answer_bytes": counted.largest.get(),
    }))
}

/// The answers of a run.
#[derive(Debug, Default)]
struct Counted {
    requests: Cell<u64>,
    /// Answers with another status than 200.
    failures: Cell<u64>,
    /// The size of the largest body.
    largest: Cell<usize>,
}
