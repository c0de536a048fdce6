//! A fake gateway for native tests: a test sets its answers in advance and reads what the plugin reported afterwards.
//!
//! The fake is per thread, because tests run in parallel. [`testing::Client`](crate::testing::Client) installs its
//! own for the duration of a call. Without one, every value is absent.

use std::cell::RefCell;
use std::collections::{BTreeMap, VecDeque};

use crate::testing::{Change, HttpRequest, LogLine, Progress};
use crate::{ClientInfo, LogLevel};

pub(crate) mod http;
pub(crate) mod kv;
pub(crate) mod rounds;

thread_local! {
    static CURRENT: RefCell<Gateway> = RefCell::default();
}

/// The configured answers, and the plugin's reports.
#[derive(Debug, Clone, Default)]
pub(crate) struct Gateway {
    pub(crate) principal: Option<String>,
    pub(crate) client: Option<ClientInfo>,
    pub(crate) revision: Option<String>,
    pub(crate) capabilities: Vec<String>,
    pub(crate) meta: BTreeMap<String, String>,
    pub(crate) config: BTreeMap<String, String>,
    pub(crate) env: BTreeMap<String, String>,
    pub(crate) answers: BTreeMap<String, String>,
    pub(crate) state: Option<Vec<u8>>,
    pub(crate) remaining_ms: Option<u32>,
    pub(crate) cancelled: bool,
    pub(crate) log_level: Option<LogLevel>,
    pub(crate) logs: Vec<LogLine>,
    pub(crate) progress: Vec<Progress>,
    pub(crate) changes: Vec<Change>,
    pub(crate) kv: BTreeMap<String, Vec<u8>>,
    pub(crate) kv_denied: bool,
    /// Values that other calls write, one before each swap, which makes that swap fail.
    pub(crate) kv_meanwhile: VecDeque<(String, Vec<u8>)>,
    /// The number of upcoming swaps that fail because another call wrote first.
    pub(crate) kv_contention: u32,
    /// The function that answers HTTP requests. `None` denies all of them.
    pub(crate) servers: Option<http::Servers>,
    pub(crate) requests: Vec<HttpRequest>,
    pub(crate) round: rounds::Round,
    pub(crate) asked: rounds::QuestionsByKey,
}

/// Runs `call` with `gateway` installed. `gateway` holds the plugin's reports afterwards.
pub(crate) fn with<R>(gateway: &mut Gateway, call: impl FnOnce() -> R) -> R {
    struct Restore<'a>(&'a mut Gateway);
    impl Drop for Restore<'_> {
        fn drop(&mut self) {
            swap(self.0); // also when a test's plugin panics
        }
    }
    fn swap(gateway: &mut Gateway) {
        CURRENT.with_borrow_mut(|current| std::mem::swap(current, gateway));
    }
    swap(gateway);
    let _restore = Restore(gateway);
    call()
}

fn read<R>(get: impl FnOnce(&Gateway) -> R) -> R {
    CURRENT.with_borrow(get)
}

fn tell<R>(note: impl FnOnce(&mut Gateway) -> R) -> R {
    CURRENT.with_borrow_mut(note)
}

pub(crate) mod request {
    use super::read;
    use crate::ClientInfo;

    pub(crate) fn principal() -> Option<String> {
        read(|gateway| gateway.principal.clone())
    }

    pub(crate) fn client() -> Option<ClientInfo> {
        read(|gateway| gateway.client.clone())
    }

    pub(crate) fn revision() -> Option<String> {
        read(|gateway| gateway.revision.clone())
    }

    pub(crate) fn capability(name: &str) -> bool {
        // A client with `sampling.tools` also has `sampling`.
        read(|gateway| {
            gateway.capabilities.iter().any(|has| {
                has.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
            })
        })
    }

    pub(crate) fn meta_value(key: &str) -> Option<String> {
        read(|gateway| gateway.meta.get(key).cloned())
    }

    pub(crate) fn answer(key: &str) -> Option<String> {
        read(|gateway| gateway.answers.get(key).cloned())
    }

    pub(crate) fn state() -> Option<Vec<u8>> {
        read(|gateway| gateway.state.clone())
    }

    pub(crate) fn remaining_ms() -> Option<u32> {
        read(|gateway| gateway.remaining_ms)
    }

    pub(crate) fn cancelled() -> bool {
        read(|gateway| gateway.cancelled)
    }
}

pub(crate) mod log {
    use super::{read, tell};
    use crate::LogLevel;
    use crate::testing::LogLine;

    pub(crate) fn enabled(level: LogLevel) -> bool {
        read(|gateway| gateway.log_level.is_none_or(|least| level >= least))
    }

    pub(crate) fn write(level: LogLevel, logger: Option<&str>, data: &str) {
        let data = serde_json::from_str(data).expect("the SDK writes JSON");
        tell(|gateway| gateway.logs.push(LogLine { level, logger: logger.map(str::to_owned), data }));
    }
}

pub(crate) mod progress {
    use super::tell;
    use crate::testing::Progress;

    pub(crate) fn report(current: f64, total: Option<f64>, message: Option<&str>) {
        tell(|gateway| {
            // A gateway drops reports without progress, which MCP forbids.
            let last = gateway.round.progress;
            if !current.is_finite() || last.is_some_and(|last| current <= last) {
                return;
            }
            gateway.round.progress = Some(current);
            let total = total.filter(|total| total.is_finite());
            gateway.progress.push(Progress { current, total, message: message.map(str::to_owned) });
        });
    }
}

pub(crate) mod changes {
    use super::tell;
    use crate::testing::Change;

    pub(crate) fn tools_changed() {
        tell(|gateway| gateway.changes.push(Change::Tools));
    }

    pub(crate) fn resources_changed() {
        tell(|gateway| gateway.changes.push(Change::Resources));
    }

    pub(crate) fn prompts_changed() {
        tell(|gateway| gateway.changes.push(Change::Prompts));
    }

    pub(crate) fn resource_updated(uri: &str) {
        tell(|gateway| gateway.changes.push(Change::Resource(uri.to_owned())));
    }
}

pub(crate) mod config {
    use super::read;
    pub(crate) use crate::bindings::imports::wasi::config::store::Error;

    #[expect(clippy::unnecessary_wraps, reason = "the real one can fail")]
    pub(crate) fn get(key: &str) -> Result<Option<String>, Error> {
        Ok(read(|gateway| gateway.config.get(key).cloned()))
    }

    #[expect(clippy::unnecessary_wraps, reason = "the real one can fail")]
    pub(crate) fn get_all() -> Result<Vec<(String, String)>, Error> {
        Ok(read(|gateway| gateway.config.iter().map(|(key, value)| (key.clone(), value.clone())).collect()))
    }
}

pub(crate) mod env {
    use super::read;

    pub(crate) fn get(name: &str) -> Option<String> {
        read(|gateway| gateway.env.get(name).cloned())
    }
}
