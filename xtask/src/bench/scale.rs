//! A simulation of more machines than this one: gateways with two processors each, a shared store of one thread, and the
//! network between them.
//!
//! Clients call as the load generator does: each connection has one call at a time. A call needs a processor of its gateway
//! for the measured time, and then the store for its operations, one after the other. Both serve in the order of arrival.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use anyhow::{Context as _, Result};
use serde_json::Value;

use super::replicas::{Setting, figure};
use super::subject::Era;
use super::table::{number, row};

/// The processors of each gateway.
const PROCESSORS: usize = 2;

/// The connections to each gateway.
const CONNECTIONS: usize = 32;

/// The simulated numbers of gateways.
const GATEWAYS: [usize; 6] = [1, 2, 4, 8, 16, 32];

/// The operations on the store of a call, and the kind of the call.
const CALLS: [(&str, usize); 3] =
    [("without the store", 0), ("with a rate", 1), ("that read and write state", 2)];

/// The time from a gateway to the store and back, without the operation itself, in µs.
const NETWORK_US: f64 = 200.0;

/// The simulated calls of each connection.
const CALLS_PER_CONNECTION: usize = 200;

/// A simulated system; times are in µs.
#[derive(Debug, Clone, Copy)]
struct Scale {
    gateways: usize,
    /// The time of a call on a processor.
    call_us: f64,
    /// The time of an operation of the store.
    operation_us: f64,
    /// The operations of a call.
    operations: usize,
}

/// The outcome of a simulation.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Outcome {
    calls_per_second: f64,
    p99_us: f64,
}

/// A server with several processors, which serves in the order of arrival.
#[derive(Debug, Clone)]
struct Queue {
    /// When each processor is free.
    free_at: Vec<f64>,
}

impl Queue {
    fn of(processors: usize) -> Self {
        Self { free_at: vec![0.0; processors] }
    }

    /// The end of a job that arrives at a time.
    fn serve(&mut self, arrival: f64, duration: f64) -> f64 {
        let first = self.free_at.iter_mut().min_by(|a, b| a.total_cmp(b)).expect("there is a processor");
        *first = first.max(arrival) + duration;
        *first
    }
}

/// The next step of a connection. Earlier ones are greater.
#[derive(Debug, PartialEq)]
struct Step {
    at: f64,
    connection: usize,
    /// The operations that the call still needs. `None`: it starts.
    operations: Option<usize>,
}

impl Eq for Step {}

impl PartialOrd for Step {
    fn partial_cmp(&self, other: &Self) -> Option<std::cmp::Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Step {
    fn cmp(&self, other: &Self) -> std::cmp::Ordering {
        self.at.total_cmp(&other.at).then(self.connection.cmp(&other.connection))
    }
}

/// The simulations as a table.
pub(super) fn markdown(figures: &Value) -> Result<String> {
    let rate = figure(figures, Era::Stateless, Setting::OneProcessor, "calls_per_second");
    let call_us = 1e6 / rate.context("the figures have no `replicas`; run `cargo xtask bench replicas`")?;
    let operations = figures["store_operations_per_second"].as_f64();
    let operation_us = 1e6 / operations.context("the figures have no `store_operations_per_second`")?;
    let mut out = "| gateways |".to_owned();
    for (kind, _) in CALLS {
        out += &format!(" calls/s {kind} | p99 ms |");
    }
    out += &format!("\n|--:|{}\n", "--:|--:|".repeat(CALLS.len()));
    for gateways in GATEWAYS {
        let mut cells = vec![gateways.to_string()];
        for (_, operations) in CALLS {
            let outcome = simulate(Scale { gateways, call_us, operation_us, operations });
            cells.push(number(Some(outcome.calls_per_second), 0));
            cells.push(number(Some(outcome.p99_us / 1000.0), 1));
        }
        row(&mut out, &cells);
    }
    Ok(out)
}

/// Runs until all connections have made their calls.
fn simulate(scale: Scale) -> Outcome {
    let Scale { gateways, call_us, operation_us, operations } = scale;
    let mut processors = vec![Queue::of(PROCESSORS); gateways];
    let mut store = Queue::of(1);
    let connections = gateways * CONNECTIONS;
    let mut started = vec![0.0; connections];
    let mut left = vec![CALLS_PER_CONNECTION; connections];
    let mut latencies = Vec::new();
    let mut end: f64 = 0.0;
    let start = |connection| Reverse(Step { at: 0.0, connection, operations: None });
    let mut steps: BinaryHeap<_> = (0..connections).map(start).collect();
    while let Some(Reverse(Step { at, connection, operations: needed })) = steps.pop() {
        let step = match needed {
            None if left[connection] == 0 => continue,
            None => {
                left[connection] -= 1;
                started[connection] = at;
                let at = processors[connection % gateways].serve(at, call_us);
                Step { at, connection, operations: Some(operations) }
            }
            Some(0) => {
                latencies.push(at - started[connection]);
                end = end.max(at);
                Step { at, connection, operations: None }
            }
            Some(more) => {
                let at = store.serve(at + NETWORK_US / 2.0, operation_us) + NETWORK_US / 2.0;
                Step { at, connection, operations: Some(more - 1) }
            }
        };
        steps.push(Reverse(step));
    }
    latencies.sort_unstable_by(f64::total_cmp);
    Outcome {
        calls_per_second: latencies.len() as f64 / end * 1e6,
        p99_us: latencies.get(latencies.len() * 99 / 100).copied().unwrap_or_default(),
    }
}

#[cfg(test)]
mod tests {
    use super::{CONNECTIONS, Outcome, Scale, simulate};

    #[test]
    fn the_busiest_part_limits_the_calls() {
        let scale = Scale { gateways: 1, call_us: 100.0, operation_us: 10.0, operations: 0 };
        let Outcome { calls_per_second, p99_us } = simulate(scale);
        assert!((19_900.0..20_100.0).contains(&calls_per_second), "two processors: {calls_per_second}");
        let queued = CONNECTIONS as f64 / 2.0 * 100.0;
        assert!((p99_us - queued).abs() < 101.0, "{p99_us}");
        let four = simulate(Scale { gateways: 4, ..scale });
        assert!((four.calls_per_second / calls_per_second - 4.0).abs() < 0.01, "{four:?}");
        // 32 gateways could make 640,000 calls, but the store only 100,000 operations.
        let stored = simulate(Scale { gateways: 32, operations: 1, ..scale });
        assert!((95_000.0..100_001.0).contains(&stored.calls_per_second), "{stored:?}");
    }
}
