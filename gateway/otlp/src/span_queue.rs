//! Spans that wait for their export: a bounded queue, and the task that empties it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use opentelemetry_otlp::SpanExporter;
use opentelemetry_sdk::trace::{SpanData, SpanExporter as _};
use tokio::sync::mpsc;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};
use tokio_util::sync::CancellationToken;

use crate::exporter::ExportCounts;
use crate::settings::QueueSettings;

/// The queue.
#[derive(Debug)]
pub(crate) struct SpanQueue {
    sender: mpsc::Sender<SpanData>,
    counters: Arc<SpanCounters>,
    stop: CancellationToken,
    task: Mutex<Option<JoinHandle<()>>>,
}

#[derive(Debug, Default)]
struct SpanCounters {
    exported: AtomicU64,
    dropped: AtomicU64,
    failed: AtomicU64,
}

/// Exports batches.
struct BatchExporter {
    exporter: SpanExporter,
    /// The spans of an export that the collector rejected although it responded with success.
    rejected: Arc<AtomicU64>,
    receiver: mpsc::Receiver<SpanData>,
    settings: QueueSettings,
    counters: Arc<SpanCounters>,
    stop: CancellationToken,
}

impl SpanQueue {
    /// Starts exporting. Must be called within a runtime.
    pub(crate) fn start(exporter: SpanExporter, rejected: Arc<AtomicU64>, settings: QueueSettings) -> Self {
        let (sender, receiver) = mpsc::channel(settings.max_queued);
        let counters = Arc::<SpanCounters>::default();
        let stop = CancellationToken::new();
        let batches = BatchExporter {
            exporter,
            rejected,
            receiver,
            settings,
            counters: Arc::clone(&counters),
            stop: stop.clone(),
        };
        let task = Mutex::new(Some(tokio::spawn(batches.run())));
        Self { sender, counters, stop, task }
    }

    /// Adds a span, or drops it if the queue is full.
    pub(crate) fn push(&self, span: SpanData) {
        if self.sender.try_send(span).is_err() {
            self.counters.dropped.fetch_add(1, Ordering::Relaxed);
        }
    }

    pub(crate) fn counts(&self) -> ExportCounts {
        let SpanCounters { exported, dropped, failed } = &*self.counters;
        let count = |count: &AtomicU64| count.load(Ordering::Relaxed);
        ExportCounts { exported: count(exported), dropped: count(dropped), failed: count(failed) }
    }

    /// Exports the rest, but doesn't wait longer than `limit`.
    pub(crate) async fn stop(&self, limit: Duration) {
        self.stop.cancel();
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        if let Some(mut task) = task
            && timeout(limit, &mut task).await.is_err()
        {
            task.abort();
        }
    }
}

impl BatchExporter {
    async fn run(mut self) {
        loop {
            let batch = self.next_batch().await;
            if batch.is_empty() {
                return; // closed and empty
            }
            let spans = batch.len() as u64;
            let result = self.exporter.export(batch).await;
            let rejected = self.rejected.swap(0, Ordering::Relaxed);
            let failed = match result {
                Ok(()) => rejected.min(spans),
                Err(_) => spans, // the client has logged it
            };
            self.counters.failed.fetch_add(failed, Ordering::Relaxed);
            self.counters.exported.fetch_add(spans - failed, Ordering::Relaxed);
        }
    }

    /// The next batch: full, or after a delay. Empty if there are no more spans.
    async fn next_batch(&mut self) -> Vec<SpanData> {
        let mut batch = Vec::new();
        let mut delay = std::pin::pin!(sleep(Duration::MAX));
        let mut has_delay = false;
        while batch.len() < self.settings.max_batch {
            let missing = self.settings.max_batch - batch.len();
            if !has_delay && !batch.is_empty() {
                delay.set(sleep(self.settings.delay));
                has_delay = true;
            }
            tokio::select! {
                biased;
                added = self.receiver.recv_many(&mut batch, missing) => if added == 0 {
                    break;
                },
                () = self.stop.cancelled(), if !self.receiver.is_closed() => self.receiver.close(),
                () = &mut delay, if has_delay => break,
            }
        }
        batch
    }
}
