//! The measurements of a run.

use std::time::{Duration, Instant};

use anyhow::ensure;
use serde_json::{Value, json};

use crate::process;

/// Collects one run's figures.
#[derive(Debug)]
pub(crate) struct Figures {
    pid: Option<u32>,
    cpu_before: Option<Duration>,
    idle_kib: Option<u64>,
    start: Instant,
    latencies: Vec<Duration>,
}

impl Figures {
    /// Starts measuring the process, if its id is known.
    pub(crate) fn begin(pid: Option<u32>, idle_kib: Option<u64>) -> Self {
        let latencies = Vec::with_capacity(1 << 20); // avoids a pause for growing during the run
        Self { pid, cpu_before: pid.and_then(process::cpu), idle_kib, start: Instant::now(), latencies }
    }

    /// Records a call with a correct answer.
    pub(crate) fn record(&mut self, latency: Duration) {
        self.latencies.push(latency);
    }

    /// Ends the run.
    ///
    /// # Errors
    /// No call was answered.
    pub(crate) fn finish(mut self) -> anyhow::Result<Value> {
        let wall = self.start.elapsed();
        let cpu = self.pid.and_then(process::cpu).zip(self.cpu_before).map(|(after, before)| after - before);
        ensure!(!self.latencies.is_empty(), "no call was answered in {wall:?}");
        self.latencies.sort_unstable();
        let calls = self.latencies.len();
        let quantile = |q: f64| micros(self.latencies[((calls - 1) as f64 * q) as usize]);
        Ok(json!({
            "calls": calls,
            "calls_per_second": (calls as f64 / wall.as_secs_f64()).round(),
            "p50_us": quantile(0.5),
            "p99_us": quantile(0.99),
            "cpu_us_per_call": cpu.map(|cpu| micros(cpu.div_f64(calls as f64))),
            "idle_kib": self.idle_kib,
            "resident_kib": self.pid.and_then(process::resident_kib),
        }))
    }
}

/// Microseconds, to a tenth.
pub(crate) fn micros(time: Duration) -> f64 {
    (time.as_secs_f64() * 1e7).round() / 10.0
}
