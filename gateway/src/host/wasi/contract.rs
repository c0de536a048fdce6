//! The functions that plugins call, but for WASI's own.
//!
//! Everything is linked for every plugin; what its table doesn't grant is answered with "no". Nothing here waits,
//! so what a guest reports keeps its order.

use moongate_core::call::{Cure, LogLevel};
use moongate_core::config::ClientFeature;
use moongate_core::json::Json;
use moongate_core::names::PluginId;
use tokio_util::sync::CancellationToken;
use wasmtime::Result;
use wasmtime::component::Resource;
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::host::bindings::{cancellation, changes, config_store, log, progress, request, types};
use crate::host::diagnostics::text;
use crate::host::sandbox::store::State;
use crate::host::wasi::grant_audit::Lack;

/// What a call may still report, and what was dropped.
#[derive(Debug)]
pub(in crate::host) struct Reports {
    log_left: u32,
    log_dropped: u64,
    /// The guest was told that a line of this level is dropped, which is counted: should it write the line all the
    /// same, that is the same one.
    log_refused: Option<LogLevel>,
    progress_left: u32,
    progress: Option<f64>,
}

impl Reports {
    /// So many log lines, and as many reports of progress.
    pub(in crate::host) fn new(most: u32) -> Self {
        Self { log_left: most, log_dropped: 0, log_refused: None, progress_left: most, progress: None }
    }

    /// Says how much was dropped.
    pub(in crate::host) fn finish(&mut self, plugin: &PluginId) {
        let dropped = std::mem::take(&mut self.log_dropped);
        if dropped > 0 {
            tracing::warn!(target: "plugin", plugin = %plugin, "{dropped} log lines dropped: it wrote more than `limits.log_lines`");
        }
    }
}

// === the call's context ===

impl types::Host for State {}

impl request::Host for State {
    fn principal(&mut self) -> Result<Option<String>> {
        Ok(self.context.principal.name().map(str::to_owned))
    }

    fn client(&mut self) -> Result<Option<request::ClientInfo>> {
        let client = self.context.client.as_deref();
        Ok(client.map(|moongate_core::call::ClientInfo { name, version, title, extra }| {
            request::ClientInfo {
                name: name.clone(),
                version: version.clone(),
                title: title.clone(),
                extra: (!extra.is_empty()).then(|| {
                    extra.iter().map(|(key, value)| (key.clone(), value.get().to_owned())).collect()
                }),
            }
        }))
    }

    fn revision(&mut self) -> Result<Option<String>> {
        Ok(self.context.revision.map(str::to_owned))
    }

    fn capability(&mut self, name: String) -> Result<bool> {
        if !self.context.capabilities.has(&name) {
            return Ok(false);
        }
        let Some(feature) = not_granted(&self.config.allow.client, &name) else {
            let feature = name.split('.').next().unwrap_or_default();
            if ClientFeature::ALL.iter().any(|known| known.as_str() == feature) {
                self.uses.used(|| format!("client {feature}"));
            }
            return Ok(true);
        };
        // It would have been able to ask.
        let wanted = format!("to ask the client for {}", feature.as_str());
        self.uses.lacked(Lack { wanted, cure: Some(Cure::Line(feature.cure())) });
        Ok(false)
    }

    fn meta_value(&mut self, key: String) -> Result<Option<String>> {
        Ok(self.context.meta_value(&key).map(|value| value.get().to_owned()))
    }

    fn answer(&mut self, key: String) -> Result<Option<String>> {
        let answer = self.context.answers.iter().find(|(its, _)| *its == key);
        Ok(answer.map(|(_, value)| value.get().to_owned()))
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.context.state.as_deref().map(<[u8]>::to_vec))
    }

    fn remaining_ms(&mut self) -> Result<Option<u32>> {
        let left = self.until.saturating_duration_since(std::time::Instant::now());
        Ok(Some(u32::try_from(left.as_millis()).unwrap_or(u32::MAX)))
    }

    fn cancelled(&mut self) -> Result<bool> {
        Ok(self.context.cancel.is_cancelled())
    }
}

/// What the operator would have to grant for the plugin to ask the client for this. Features that no grant names need
/// none.
fn not_granted(granted: &std::collections::BTreeSet<ClientFeature>, name: &str) -> Option<ClientFeature> {
    let first = name.split('.').next().unwrap_or_default();
    ClientFeature::ALL
        .into_iter()
        .find(|feature| feature.as_str() == first)
        .filter(|feature| !granted.contains(feature))
}

/// Ready once the caller has lost interest.
struct Lost(CancellationToken);

#[wasmtime_wasi::async_trait]
impl Pollable for Lost {
    async fn ready(&mut self) {
        self.0.cancelled().await;
    }
}

impl cancellation::Host for State {
    fn subscribe(&mut self) -> Result<Resource<DynPollable>> {
        let lost = self.table.push(Lost(self.context.cancel.clone()))?;
        subscribe(&mut self.table, lost)
    }
}

// === what it reports ===

fn level(level: log::LogLevel) -> LogLevel {
    match level {
        log::LogLevel::Debug => LogLevel::Debug,
        log::LogLevel::Info => LogLevel::Info,
        log::LogLevel::Notice => LogLevel::Notice,
        log::LogLevel::Warning => LogLevel::Warning,
        log::LogLevel::Error => LogLevel::Error,
        log::LogLevel::Critical => LogLevel::Critical,
        log::LogLevel::Alert => LogLevel::Alert,
        log::LogLevel::Emergency => LogLevel::Emergency,
    }
}

/// Would a line of this level be in the gateway's own log?
fn is_logged(level: LogLevel) -> bool {
    match level {
        LogLevel::Debug => tracing::enabled!(target: "plugin", tracing::Level::DEBUG),
        LogLevel::Info | LogLevel::Notice => tracing::enabled!(target: "plugin", tracing::Level::INFO),
        LogLevel::Warning => tracing::enabled!(target: "plugin", tracing::Level::WARN),
        LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
            tracing::enabled!(target: "plugin", tracing::Level::ERROR)
        }
    }
}

/// Writes a line into the gateway's own log.
fn write_line(plugin: &PluginId, level: LogLevel, logger: Option<&str>, message: &str) {
    match level {
        LogLevel::Debug => tracing::debug!(target: "plugin", %plugin, logger, "{message}"),
        LogLevel::Info | LogLevel::Notice => tracing::info!(target: "plugin", %plugin, logger, "{message}"),
        LogLevel::Warning => tracing::warn!(target: "plugin", %plugin, logger, "{message}"),
        LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
            tracing::error!(target: "plugin", %plugin, logger, "{message}");
        }
    }
}

/// The largest JSON value of a log line, in bytes.
const LINE: usize = 64 << 10;

/// What a log line says: a JSON value. What isn't JSON, or nests too deep to be read, is taken for the message itself,
/// and what is too large for its beginning.
fn line(data: String) -> Json {
    match serde_json::from_str::<&serde_json::value::RawValue>(&data) {
        Ok(value) if data.len() <= LINE && text::depth(&data) <= text::DEPTH => Json::from(value),
        Ok(_) | Err(_) => Json::string(&text::block(data, text::MESSAGE)),
    }
}

impl State {
    /// Does the caller want a line of this level? Once it has lost interest it hears nothing.
    fn is_heard(&self, level: LogLevel) -> bool {
        self.context.sink.log_enabled(level) && !self.context.cancel.is_cancelled()
    }
}

impl log::Host for State {
    fn enabled(&mut self, its: log::LogLevel) -> Result<bool> {
        let its = level(its);
        if !(is_logged(its) || self.is_heard(its)) {
            return Ok(false);
        }
        // Who asks beforehand, as the SDK does, won't write the line: it is dropped here.
        let reports = &mut self.reports;
        let goes = reports.log_left > 0;
        reports.log_dropped += u64::from(!goes);
        reports.log_refused = (!goes).then_some(its);
        Ok(goes)
    }

    fn write(&mut self, its: log::LogLevel, logger: Option<String>, data: String) -> Result<()> {
        let its = level(its);
        let (logged, wanted) = (is_logged(its), self.is_heard(its));
        if !logged && !wanted {
            return Ok(());
        }
        let reports = &mut self.reports;
        let Some(left) = reports.log_left.checked_sub(1) else {
            let is_counted = reports.log_refused.take() == Some(its);
            reports.log_dropped += u64::from(!is_counted);
            return Ok(());
        };
        reports.log_left = left;
        let logger = logger.map(|name| text::line(&name, text::WORD));
        let data = line(text::json(data));
        if logged {
            let message = serde_json::from_str(data.get()).unwrap_or_else(|_| data.get().to_owned());
            write_line(&self.config.id, its, logger.as_deref(), &text::line(&message, text::MESSAGE));
        }
        if wanted {
            self.context.sink.log(its, logger.as_deref(), &data);
        }
        Ok(())
    }
}

impl progress::Host for State {
    fn report(&mut self, current: f64, total: Option<f64>, message: Option<String>) -> Result<()> {
        let reports = &mut self.reports;
        // MCP: "the progress value MUST increase with each notification".
        if !current.is_finite() || reports.progress.is_some_and(|last| current <= last) {
            return Ok(());
        }
        let Some(left) = reports.progress_left.checked_sub(1) else { return Ok(()) };
        if self.context.cancel.is_cancelled() {
            return Ok(());
        }
        reports.progress_left = left;
        reports.progress = Some(current);
        let message = message.map(|message| text::line(&message, text::MESSAGE));
        self.context.sink.progress(current, total.filter(|total| total.is_finite()), message.as_deref());
        Ok(())
    }
}

impl changes::Host for State {
    fn tools_changed(&mut self) -> Result<()> {
        self.changes.add_list();
        Ok(())
    }

    fn resources_changed(&mut self) -> Result<()> {
        self.changes.add_list();
        Ok(())
    }

    fn prompts_changed(&mut self) -> Result<()> {
        self.changes.add_list();
        Ok(())
    }

    fn resource_updated(&mut self, uri: String) -> Result<()> {
        self.changes.add_resource(&uri);
        Ok(())
    }
}

// === its configuration ===

impl config_store::Host for State {
    fn get(&mut self, key: String) -> Result<std::result::Result<Option<String>, config_store::Error>> {
        let value = self.config.config.get(&key);
        if value.is_some() {
            self.uses.used(|| format!("config {key}"));
        }
        Ok(Ok(value.map(|value| value.expose().to_owned())))
    }

    fn get_all(&mut self) -> Result<std::result::Result<Vec<(String, String)>, config_store::Error>> {
        for key in self.config.config.keys() {
            self.uses.used(|| format!("config {key}"));
        }
        let all = self.config.config.iter();
        Ok(Ok(all.map(|(key, value)| (key.clone(), value.expose().to_owned())).collect()))
    }
}
