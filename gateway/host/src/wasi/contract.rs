//! The contract's own functions, and `wasi:config`.
//!
//! Everything is linked for every plugin. Functions that need a grant fail without it. No function waits, so the
//! reports of a guest keep their order.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::time::Instant;

use moongate_config::{ClientFeature, PluginConfig};
use moongate_model::call::{CallContext, GrantFix, LogLevel};
use moongate_model::caller::Caller;
use moongate_model::json::Json;
use moongate_model::names::PluginId;
use moongate_model::trace_context::TraceId;
use tokio_util::sync::CancellationToken;
use wasmtime::Result;
use wasmtime::component::{HasData, Resource, ResourceTable};
use wasmtime_wasi::p2::{DynPollable, Pollable, subscribe};

use crate::bindings::{cancellation, changes, config_store, log, progress, request, types};
use crate::change_inbox::CallChanges;
use crate::convert;
use crate::diagnostics::plugin_log::PluginLog;
use crate::diagnostics::text;
use crate::sandbox::quota::CountQuota;
use crate::wasi::grant_audit::{GrantAudit, MissingGrant};

/// A store's part for the contract.
#[derive(Debug)]
pub(crate) struct ContractState {
    config: Arc<PluginConfig>,
    plugin_log: Arc<PluginLog>,
    context: Arc<CallContext>,
    /// The time at which the gateway ends the call.
    deadline: Instant,
    changes: CallChanges,
    log: LogState,
    progress: ProgressState,
    audit: GrantAudit,
}

/// The log lines of one call.
#[derive(Debug)]
struct LogState {
    quota: CountQuota,
    dropped: u64,
    /// The guest asked if a line of this level is logged, and the answer was no. The line was counted as dropped. If
    /// the guest writes it nevertheless, it isn't counted again.
    refused: Option<LogLevel>,
}

/// The progress reports of one call.
#[derive(Debug)]
struct ProgressState {
    quota: CountQuota,
    last: Option<f64>,
}

impl ContractState {
    /// The caller of the running call.
    pub(crate) fn caller(&self) -> &Caller {
        &self.context.caller
    }

    /// The id of the call's trace, for logs.
    pub(crate) fn trace_id(&self) -> Option<TraceId> {
        self.context.trace_id()
    }

    pub(crate) fn new(
        config: Arc<PluginConfig>,
        plugin_log: Arc<PluginLog>,
        context: Arc<CallContext>,
        deadline: Instant,
        changes: CallChanges,
        audit: GrantAudit,
    ) -> Self {
        let max_reports = config.limits.log_lines;
        let log = LogState { quota: CountQuota::new(max_reports), dropped: 0, refused: None };
        let progress = ProgressState { quota: CountQuota::new(max_reports), last: None };
        Self { config, plugin_log, context, deadline, changes, log, progress, audit }
    }

    /// Logs the number of dropped lines.
    pub(crate) fn finish(&mut self) {
        let plugin = &self.config.id;
        let dropped = std::mem::take(&mut self.log.dropped);
        if dropped > 0 && self.plugin_log.admits(0) {
            tracing::warn!(
                target: "plugin",
                %plugin,
                "{dropped} log lines dropped: plugin `{plugin}` wrote more than `limits.log_lines`"
            );
        }
    }

    /// True if the caller wants a line of this level. A cancelled call sends nothing.
    fn is_wanted_by_caller(&self, level: LogLevel) -> bool {
        self.context.sink.log_enabled(level) && !self.context.cancel.is_cancelled()
    }
}

// === the request ===

impl types::Host for ContractState {}

impl request::Host for ContractState {
    fn principal(&mut self) -> Result<Option<String>> {
        Ok(self.context.caller.principal().name().map(str::to_owned))
    }

    fn client(&mut self) -> Result<Option<request::ClientInfo>> {
        let client = self.context.client.as_deref();
        Ok(client.map(|moongate_model::call::ClientInfo { name, version, title, extra }| {
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
        let Some(feature) = missing_feature(&self.config.allow.client, &name) else {
            let feature = name.split('.').next().unwrap_or_default();
            if ClientFeature::ALL.iter().any(|known| known.as_str() == feature) {
                self.audit.note_used(|| format!("client {feature}"));
            }
            return Ok(true);
        };
        // The client supports it, so only the grant is missing.
        self.audit.report_missing(&MissingGrant {
            wanted: format!("to ask the client for {}", feature.as_str()),
            fix: Some(GrantFix::Line(feature.suggest_grant())),
        });
        Ok(false)
    }

    fn meta_value(&mut self, key: String) -> Result<Option<String>> {
        Ok(self.context.meta_value(&key).map(|value| value.get().to_owned()))
    }

    fn answer(&mut self, key: String) -> Result<Option<String>> {
        let answer = self.context.answers.iter().find(|(question, _)| *question == key);
        Ok(answer.map(|(_, value)| value.get().to_owned()))
    }

    fn state(&mut self) -> Result<Option<Vec<u8>>> {
        Ok(self.context.round_state.as_deref().map(<[u8]>::to_vec))
    }

    fn remaining_ms(&mut self) -> Result<Option<u32>> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        Ok(Some(u32::try_from(left.as_millis()).unwrap_or(u32::MAX)))
    }

    fn cancelled(&mut self) -> Result<bool> {
        Ok(self.context.cancel.is_cancelled())
    }
}

/// The missing grant for this capability of the client. `None` if it is granted, or needs no grant.
fn missing_feature(granted: &BTreeSet<ClientFeature>, name: &str) -> Option<ClientFeature> {
    let first = name.split('.').next().unwrap_or_default();
    ClientFeature::ALL
        .into_iter()
        .find(|feature| feature.as_str() == first)
        .filter(|feature| !granted.contains(feature))
}

/// The parts of a store that are needed to subscribe to a cancellation.
pub(crate) struct CancellationView<'a> {
    pub(crate) state: &'a mut ContractState,
    pub(crate) table: &'a mut ResourceTable,
}

/// Tells the bindings to use a [`CancellationView`].
pub(crate) struct CancellationData;

impl HasData for CancellationData {
    type Data<'a> = CancellationView<'a>;
}

/// Ready when the call is cancelled.
struct CallCancelled(CancellationToken);

#[wasmtime_wasi::async_trait]
impl Pollable for CallCancelled {
    async fn ready(&mut self) {
        self.0.cancelled().await;
    }
}

impl cancellation::Host for CancellationView<'_> {
    fn subscribe(&mut self) -> Result<Resource<DynPollable>> {
        let cancelled = self.table.push(CallCancelled(self.state.context.cancel.clone()))?;
        subscribe(self.table, cancelled)
    }
}

// === reports ===

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

/// True if the gateway's own log includes lines of this level.
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

/// Writes a line to the gateway's own log.
fn write_line(
    plugin: &PluginId,
    trace_id: Option<TraceId>,
    level: LogLevel,
    logger: Option<&str>,
    message: &str,
) {
    let trace_id = trace_id.map(tracing::field::display);
    match level {
        LogLevel::Debug => tracing::debug!(target: "plugin", %plugin, logger, trace_id, "{message}"),
        LogLevel::Info | LogLevel::Notice => {
            tracing::info!(target: "plugin", %plugin, logger, trace_id, "{message}")
        }
        LogLevel::Warning => tracing::warn!(target: "plugin", %plugin, logger, trace_id, "{message}"),
        LogLevel::Error | LogLevel::Critical | LogLevel::Alert | LogLevel::Emergency => {
            tracing::error!(target: "plugin", %plugin, logger, trace_id, "{message}");
        }
    }
}

/// The maximum size of a log line's JSON value, in bytes.
const MAX_JSON_BYTES: usize = 64 << 10;

/// The data of a log line as JSON. Data that isn't strict JSON becomes a string, as does the start of data that is too
/// large.
fn line_data(data: String) -> Json {
    let json = if data.len() <= MAX_JSON_BYTES { convert::strict(data.clone()).ok() } else { None };
    json.unwrap_or_else(|| Json::string(&text::clean_block(data, text::MAX_MESSAGE_BYTES)))
}

impl log::Host for ContractState {
    fn enabled(&mut self, wit_level: log::LogLevel) -> Result<bool> {
        let level = level(wit_level);
        if !(is_logged(level) || self.is_wanted_by_caller(level)) {
            return Ok(false);
        }
        // A guest that asks first, like the SDK does, won't write the line, so it is dropped here.
        let log = &mut self.log;
        let is_dropped = log.quota.left() == 0;
        log.dropped += u64::from(is_dropped);
        log.refused = is_dropped.then_some(level);
        Ok(!is_dropped)
    }

    fn write(&mut self, wit_level: log::LogLevel, logger: Option<String>, data: String) -> Result<()> {
        let level = level(wit_level);
        let is_logged = is_logged(level);
        let is_wanted = self.is_wanted_by_caller(level);
        if !is_logged && !is_wanted {
            return Ok(());
        }
        let log = &mut self.log;
        if !log.quota.take(1) {
            let is_counted = log.refused.take() == Some(level);
            log.dropped += u64::from(!is_counted);
            return Ok(());
        }
        let logger = logger.map(|name| text::clean_line(&name, text::MAX_WORD_BYTES));
        let data = line_data(text::clean_json(data));
        if is_logged {
            let message = serde_json::from_str(data.get()).unwrap_or_else(|_| data.get().to_owned());
            let message = text::clean_line(&message, text::MAX_MESSAGE_BYTES);
            if self.plugin_log.admits(message.len()) {
                write_line(&self.config.id, self.context.trace_id(), level, logger.as_deref(), &message);
            }
        }
        if is_wanted {
            self.context.sink.log(level, logger.as_deref(), &data);
        }
        Ok(())
    }
}

impl progress::Host for ContractState {
    fn report(&mut self, current: f64, total: Option<f64>, message: Option<String>) -> Result<()> {
        let progress = &mut self.progress;
        // MCP: "the progress value MUST increase with each notification".
        if !current.is_finite() || progress.last.is_some_and(|last| current <= last) {
            return Ok(());
        }
        if self.context.cancel.is_cancelled() || !progress.quota.take(1) {
            return Ok(());
        }
        progress.last = Some(current);
        let message = message.map(|message| text::clean_line(&message, text::MAX_MESSAGE_BYTES));
        self.context.sink.progress(current, total.filter(|total| total.is_finite()), message.as_deref());
        Ok(())
    }
}

impl changes::Host for ContractState {
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

// === settings ===

impl config_store::Host for ContractState {
    fn get(&mut self, key: String) -> Result<std::result::Result<Option<String>, config_store::Error>> {
        let value = self.config.settings.get(&key);
        if value.is_some() {
            self.audit.note_used(|| format!("config {key}"));
        }
        Ok(Ok(value.map(|value| value.expose().to_owned())))
    }

    fn get_all(&mut self) -> Result<std::result::Result<Vec<(String, String)>, config_store::Error>> {
        for key in self.config.settings.keys() {
            self.audit.note_used(|| format!("config {key}"));
        }
        let all = self.config.settings.iter();
        Ok(Ok(all.map(|(key, value)| (key.clone(), value.expose().to_owned())).collect()))
    }
}
