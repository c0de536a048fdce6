//! Cold starts: from spawning a stdio server to the answer to `initialize`, to the first list of tools, and to the first
//! complete list of tools.

use std::time::{Duration, Instant};

use anyhow::Context as _;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};

use crate::Plan;
use crate::figures::micros;
use crate::message::{Spec, tools_page};
use crate::process;
use crate::stdio::Server;

/// The pause before an incomplete list is requested again.
const RETRY_INTERVAL: Duration = Duration::from_millis(1);

/// The pause between two samples of the memory.
const MEMORY_INTERVAL: Duration = Duration::from_millis(250);

/// The number of samples after which memory that still grows is reported as it is.
const MAX_MEMORY_SAMPLES: usize = 40;

/// The times of one start.
struct StartTimes {
    /// The answer to `initialize`.
    initialized: Duration,
    /// The first list of tools, complete or not.
    listed: Duration,
    /// The first list with all tools.
    complete: Duration,
}

/// Starts the server repeatedly. A list is complete if it contains the tool, and at least `tools` tools.
///
/// # Errors
/// The server can't be started, or its list stays incomplete.
pub(crate) async fn run(command: &[String], spec: &Spec, plan: &Plan, tools: usize) -> anyhow::Result<Value> {
    let mut starts = Vec::new();
    let mut resident = None;
    for number in 1..=plan.width {
        let start = Instant::now();
        let mut server = Server::start(command)?;
        let listed = timeout(plan.patience, first_lists(&mut server, spec, tools, start));
        starts.push(listed.await.context("no complete list of tools")??);
        if number == plan.width {
            resident = settled_resident_kib(&server).await;
        }
        server.end().await?;
    }
    let middle = |time: fn(&StartTimes) -> Duration| {
        let mut times: Vec<Duration> = starts.iter().map(time).collect();
        times.sort_unstable();
        micros(times[times.len() / 2])
    };
    Ok(json!({
        "starts": starts.len(),
        "initialize_us": middle(|times| times.initialized),
        "first_list_us": middle(|times| times.listed),
        "complete_list_us": middle(|times| times.complete),
        "resident_kib": resident,
    }))
}

/// The resident memory once it grows by less than a hundredth, because a server can load more after its first list.
async fn settled_resident_kib(server: &Server) -> Option<u64> {
    let pid = server.pid?;
    let mut resident = process::resident_kib(pid)?;
    for _ in 0..MAX_MEMORY_SAMPLES {
        sleep(MEMORY_INTERVAL).await;
        let before = std::mem::replace(&mut resident, process::resident_kib(pid)?);
        if resident <= before + before / 100 {
            break;
        }
    }
    Some(resident)
}

async fn first_lists(
    server: &mut Server,
    spec: &Spec,
    tools: usize,
    start: Instant,
) -> anyhow::Result<StartTimes> {
    server.greet(spec).await?;
    let initialized = start.elapsed();
    let mut listed = None;
    let mut id = 0;
    loop {
        let mut count = 0;
        let mut is_expected = false;
        let mut received;
        let mut cursor = None::<String>;
        loop {
            id += 1;
            server.send(&spec.page(id, cursor.as_deref())).await?;
            let answer = server.answer(id).await?;
            // Before the answer is parsed: a list of 3 MB takes the client longer than some servers.
            received = start.elapsed();
            let page = tools_page(&answer, &spec.tool)?;
            count += page.count;
            is_expected |= page.is_expected;
            cursor = page.next;
            if cursor.is_none() {
                break;
            }
        }
        let listed = *listed.get_or_insert(received);
        if is_expected && count >= tools {
            return Ok(StartTimes { initialized, listed, complete: received });
        }
        sleep(RETRY_INTERVAL).await;
    }
}
