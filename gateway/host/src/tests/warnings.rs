//! Captures warnings.

use std::sync::{Arc, LazyLock, Mutex};

use tracing::Dispatch;
use tracing::subscriber::DefaultGuard;

/// The warnings of a thread.
#[derive(Clone, Default)]
pub(crate) struct Warnings(Arc<Mutex<Vec<Warning>>>);

struct Warning {
    target: String,
    message: String,
}

impl tracing::Subscriber for Warnings {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        *metadata.level() == tracing::Level::WARN
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        struct Message<'a>(&'a mut String);
        impl tracing::field::Visit for Message<'_> {
            fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
                if field.name() == "message" {
                    *self.0 = format!("{value:?}");
                }
            }
        }
        let mut message = String::new();
        event.record(&mut Message(&mut message));
        let target = event.metadata().target().to_owned();
        self.0.lock().unwrap().push(Warning { target, message });
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

impl Warnings {
    /// Captures warnings of this thread until the guard is dropped.
    pub(crate) fn listen() -> (Self, DefaultGuard) {
        // With a single subscriber, the first thread that reaches a log line decides for all threads if it is enabled,
        // and threads of other tests have no subscriber.
        static ANOTHER: LazyLock<Dispatch> = LazyLock::new(|| Dispatch::new(Warnings::default()));
        LazyLock::force(&ANOTHER);
        let warnings = Self::default();
        (warnings.clone(), tracing::subscriber::set_default(warnings))
    }

    /// The warnings so far.
    pub(crate) fn lines(&self) -> Vec<String> {
        self.0.lock().unwrap().iter().map(|warning| warning.message.clone()).collect()
    }

    /// The warnings so far, without those of this log target.
    pub(crate) fn lines_without(&self, target: &str) -> Vec<String> {
        let warnings = self.0.lock().unwrap();
        let others = warnings.iter().filter(|warning| warning.target != target);
        others.map(|warning| warning.message.clone()).collect()
    }
}
