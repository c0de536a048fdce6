//! Very many calls, one in ten of them hostile, to see whether the memory of the server grows.
//!
//! The calls run in batches. After each batch nothing is in flight, and the resident memory is read. Every honest call must
//! get the right answer; a hostile call must get an answer, unless the client abandons it.

use std::cell::Cell;
use std::collections::HashMap;
use std::path::Path;
use std::rc::Rc;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt as _, AsyncWriteExt as _};
use tokio::task::{JoinSet, LocalSet};
use tokio::time::timeout;

use crate::Plan;
use crate::http::{Client, endpoint};
use crate::message::{Spec, Template, find_id, shown};
use crate::process;
use crate::stdio::Server;

/// One call in this many is hostile.
const HOSTILE_ONE_IN: u64 = 10;

/// One hostile call in this many is abandoned.
const ABANDONED_ONE_IN: u64 = 5;

/// The numbers of calls.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SoakPlan {
    /// In total.
    pub(crate) calls: u64,
    /// Between two samples of the memory.
    pub(crate) sample: u64,
}

/// A call that tries to do harm.
struct HostileCall {
    tool: String,
    arguments: Value,
}

/// The kind of a call.
enum CallKind<'a> {
    Honest,
    Hostile(&'a HostileCall),
    Abandoned(&'a HostileCall),
}

/// The hostile calls in turn.
struct HostileCalls(Vec<HostileCall>);

impl HostileCalls {
    fn read(file: &Path) -> anyhow::Result<Self> {
        let text = std::fs::read(file).with_context(|| format!("reading {}", file.display()))?;
        let calls: Vec<(String, Value)> = serde_json::from_slice(&text).context("not a list of calls")?;
        ensure!(!calls.is_empty(), "there are no hostile calls");
        Ok(Self(calls.into_iter().map(|(tool, arguments)| HostileCall { tool, arguments }).collect()))
    }

    /// The kind of the call with this number.
    fn kind(&self, id: u64) -> CallKind<'_> {
        if !id.is_multiple_of(HOSTILE_ONE_IN) {
            return CallKind::Honest;
        }
        let number = id / HOSTILE_ONE_IN;
        let turn = number % self.0.len() as u64;
        let call = &self.0[usize::try_from(turn).unwrap_or_default()];
        // Another call of the list in each of its rounds.
        let is_abandoned = (number + number / self.0.len() as u64).is_multiple_of(ABANDONED_ONE_IN);
        if is_abandoned { CallKind::Abandoned(call) } else { CallKind::Hostile(call) }
    }
}

/// The memory of the server after each batch.
struct Samples {
    pid: u32,
    start: Instant,
    taken: Vec<(u64, u64)>,
}

impl Samples {
    fn of(pid: u32) -> anyhow::Result<Self> {
        let mut samples = Self { pid, start: Instant::now(), taken: Vec::new() };
        samples.take(0)?;
        Ok(samples)
    }

    fn take(&mut self, calls: u64) -> anyhow::Result<()> {
        let resident = process::resident_kib(self.pid).context("the server ended")?;
        eprintln!("{calls} calls, {} s: {resident} KiB", self.start.elapsed().as_secs());
        self.taken.push((calls, resident));
        Ok(())
    }

    fn figures(self) -> Value {
        json!({
            "seconds": self.start.elapsed().as_secs_f64().round(),
            "samples": self.taken.iter().map(|(calls, kib)| json!([calls, kib])).collect::<Vec<_>>(),
        })
    }
}

/// Runs the plan against a running server over HTTP, or against the command over stdio.
///
/// # Errors
/// The server ends, an honest call gets a wrong answer, or a hostile one gets none.
pub(crate) async fn run(
    target: Option<(&str, u32)>,
    command: &[String],
    spec: &Spec,
    plan: &Plan,
    soak: &SoakPlan,
    hostile: &Path,
) -> anyhow::Result<Value> {
    ensure!(spec.stateless(), "only requests without a session are repeated");
    let hostile = HostileCalls::read(hostile)?;
    match target {
        Some((url, pid)) => over_http(url, pid, spec, plan, soak, hostile).await,
        None => over_stdio(command, spec, plan, soak, &hostile).await,
    }
}

async fn over_http(
    url: &str,
    pid: u32,
    spec: &Spec,
    plan: &Plan,
    soak: &SoakPlan,
    hostile: HostileCalls,
) -> anyhow::Result<Value> {
    let shared = Rc::new(HttpSoak {
        url: url.to_owned(),
        spec: spec.clone(),
        patience: plan.patience,
        template: Template::new(spec)?,
        hostile,
        next: Cell::new(1),
    });
    let mut samples = Samples::of(pid)?;
    while shared.next.get() <= soak.calls {
        let end = (shared.next.get() + soak.sample).min(soak.calls + 1);
        let local = LocalSet::new();
        let mut connections = JoinSet::new();
        for _ in 0..plan.width {
            connections.spawn_local_on(Rc::clone(&shared).calls(end), &local);
        }
        local
            .run_until(async {
                while let Some(ended) = connections.join_next().await {
                    ended.context("a connection's task ended early")??;
                }
                anyhow::Ok(())
            })
            .await?;
        samples.take(end - 1)?;
    }
    Ok(samples.figures())
}

/// The state that all connections share.
struct HttpSoak {
    url: String,
    spec: Spec,
    patience: Duration,
    template: Template,
    hostile: HostileCalls,
    next: Cell<u64>,
}

impl HttpSoak {
    /// Makes calls over one connection until the next call is the one with the number `end`.
    async fn calls(self: Rc<Self>, end: u64) -> anyhow::Result<()> {
        let (authority, path) = endpoint(&self.url)?;
        let mut client = Client::open(&self.url, &self.spec, self.patience).await?;
        while self.next.get() < end {
            let id = self.next.replace(self.next.get() + 1);
            let (call, is_abandoned) = match self.hostile.kind(id) {
                CallKind::Honest => {
                    client.call(&self.template, id).await?;
                    continue;
                }
                CallKind::Hostile(call) => (call, false),
                CallKind::Abandoned(call) => (call, true),
            };
            let head = self.spec.head_for(authority, path, "tools/call", &call.tool, None);
            let body = self.spec.call(id, &call.tool, &call.arguments);
            if is_abandoned {
                client.abandon(&head, body.as_bytes()).await?;
                client = Client::open(&self.url, &self.spec, self.patience).await?;
            } else {
                let (_, answer) = client.send(&head, body.as_bytes()).await?;
                ensure!(find_id(answer).is_some(), "no answer to {}: {}", call.tool, shown(answer));
            }
        }
        Ok(())
    }
}

async fn over_stdio(
    command: &[String],
    spec: &Spec,
    plan: &Plan,
    soak: &SoakPlan,
    hostile: &HostileCalls,
) -> anyhow::Result<Value> {
    let template = Template::new(spec)?;
    let mut server = Server::start(command)?;
    server.send(&spec.list(0)).await?; // waits for the start
    timeout(plan.patience, server.answer(0)).await.context("no list of tools")??;
    let mut samples = Samples::of(server.pid.context("the server has ended")?)?;
    let mut next = 1;
    let mut line = Vec::new();
    while next <= soak.calls {
        let end = (next + soak.sample).min(soak.calls + 1);
        // The value tells whether the call is honest.
        let mut sent: HashMap<u64, bool> = HashMap::new();
        while next < end || !sent.is_empty() {
            while next < end && sent.len() < plan.width {
                let is_waiting = send_call(&mut server, spec, &template, hostile, next).await?;
                if let Some(is_honest) = is_waiting {
                    sent.insert(next, is_honest);
                }
                next += 1;
            }
            if sent.is_empty() {
                continue;
            }
            line.clear();
            let read = timeout(plan.patience, server.output.read_until(b'\n', &mut line)).await;
            ensure!(read.context("calls were never answered")?? > 0, "the server ended its output");
            let Some(id) = find_id(&line) else { continue }; // a notification
            // Otherwise an abandoned call that had ended before.
            if sent.remove(&id) == Some(true) {
                template.check(id, &line)?;
            }
        }
        samples.take(end - 1)?;
    }
    server.end().await?;
    Ok(samples.figures())
}

/// Sends the call with this number. Returns whether it is honest, or `None` if it was abandoned.
async fn send_call(
    server: &mut Server,
    spec: &Spec,
    template: &Template,
    hostile: &HostileCalls,
    id: u64,
) -> anyhow::Result<Option<bool>> {
    let (message, is_waiting) = match hostile.kind(id) {
        CallKind::Honest => {
            let mut message = Vec::new();
            template.write(id, &mut message);
            (message, Some(true))
        }
        CallKind::Hostile(call) => (spec.call(id, &call.tool, &call.arguments).into_bytes(), Some(false)),
        CallKind::Abandoned(call) => {
            let cancel =
                json!({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": id}});
            let text = format!("{}\n{cancel}", spec.call(id, &call.tool, &call.arguments));
            (text.into_bytes(), None)
        }
    };
    server.input.write_all(&message).await.context("sending")?;
    server.input.write_all(b"\n").await.context("sending")?;
    Ok(is_waiting)
}

#[cfg(test)]
mod tests {
    use super::{CallKind, HostileCall, HostileCalls};

    #[test]
    fn one_call_in_ten_is_hostile_and_each_kind_is_abandoned() {
        let call = |tool: &str| HostileCall { tool: tool.to_owned(), arguments: serde_json::json!({}) };
        let hostile = HostileCalls(["a", "b", "c", "d", "e"].map(call).into());
        let mut abandoned = std::collections::BTreeMap::<&str, u32>::new();
        let mut count = 0;
        for id in 1..=1_000 {
            match hostile.kind(id) {
                CallKind::Honest => {}
                CallKind::Hostile(_) => count += 1,
                CallKind::Abandoned(call) => {
                    count += 1;
                    *abandoned.entry(&call.tool).or_default() += 1;
                }
            }
        }
        assert_eq!(count, 100);
        assert_eq!(
            abandoned.into_iter().collect::<Vec<_>>(),
            ["a", "b", "c", "d", "e"].map(|tool| (tool, 4))
        );
    }
}
