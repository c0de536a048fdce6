//! Cold starts: from spawning a stdio server to the first tool list that contains the tool.

use std::time::Instant;

use anyhow::{Context as _, ensure};
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::Plan;
use crate::figures::micros;
use crate::message::{Spec, lists};
use crate::process;
use crate::stdio::Server;

/// Starts the server repeatedly.
///
/// # Errors
/// The server can't be started, or its first list doesn't contain the tool: a server that isn't ready doesn't count.
pub(crate) async fn run(command: &[String], spec: &Spec, plan: &Plan) -> anyhow::Result<Value> {
    let mut times = Vec::new();
    let mut resident = None;
    for _ in 0..plan.width {
        let start = Instant::now();
        let mut server = Server::start(command)?;
        let listed = timeout(plan.patience, async {
            server.greet(spec).await?;
            server.send(&spec.list(1)).await?;
            server.answer(1).await
        });
        let answer = listed.await.context("no list of tools")??;
        times.push(start.elapsed());
        ensure!(lists(&answer, &spec.tool)?, "the first list doesn't contain `{}`", spec.tool);
        resident = server.pid.and_then(process::resident_kib);
        server.end().await?;
    }
    times.sort_unstable();
    Ok(json!({
        "starts": times.len(),
        "first_list_us": micros(times[times.len() / 2]),
        "fastest_us": micros(times[0]),
        "resident_kib": resident,
    }))
}
