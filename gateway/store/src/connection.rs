//! The connection to the store: operations, reconnecting, and its status.
//!
//! All operations share one connection, which answers them in order. If it fails, or doesn't respond in time, it is
//! closed, and the next operation opens a new one. If that fails, operations fail at once until the monitor has opened
//! one. Nothing is sent twice, because a failed operation might have been executed.

use std::fmt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use moongate_config::StoreConfig;
use moongate_model::state::StateDiagnostic;
use moongate_system::log_interval::LogIntervals;
use redis::aio::{ConnectionLike as _, MultiplexedConnection};
use redis::{
    AsyncConnectionConfig, Cmd, FromRedisValue, RedisConnectionInfo, Script, ScriptInvocation, Value,
    from_redis_value,
};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};
use tokio_util::task::AbortOnDropHandle;

use crate::dial::Dialer;
use crate::error::StoreError;
use crate::handshake::{ServerFacts, check_server, log_in, set_marker};

/// The time after a failed attempt until the next one.
const RECONNECT_PAUSE: Duration = Duration::from_secs(1);

/// The interval of pings, which find a connection that is broken without a sign, and restore the marker if the store was
/// emptied.
const PING_INTERVAL: Duration = Duration::from_secs(5);

/// The shared store. Clones share one connection.
#[derive(Clone)]
pub struct SharedStore(Arc<StoreLink>);

/// The purpose of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StoreUse {
    /// Plugins' state.
    State,
    /// Rates of calls.
    Rates,
    /// States that are used once.
    UsedOnce,
    /// Sessions.
    Sessions,
    /// Messages between gateways.
    Messages,
}

/// The operations of one purpose since the start.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct UseCounts {
    /// All operations.
    pub operations: u64,
    /// Those that failed.
    pub errors: u64,
}

/// The status of the store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoreStatus {
    /// The address, without user and database.
    pub address: String,
    /// The name and version of the server. `None` before the first connection.
    pub server: Option<String>,
    /// The reason that the store can't be used. `None` if it can, or before the first attempt.
    pub problem: Option<StoreError>,
    /// True if a connection is open.
    pub is_connected: bool,
    /// The operations, by purpose.
    pub counts: [(StoreUse, UseCounts); StoreUse::ALL.len()],
}

impl StoreUse {
    /// All purposes.
    pub const ALL: [Self; 5] = [Self::State, Self::Rates, Self::UsedOnce, Self::Sessions, Self::Messages];

    /// A stable word, for metrics.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::State => "state",
            Self::Rates => "rates",
            Self::UsedOnce => "used_once",
            Self::Sessions => "sessions",
            Self::Messages => "messages",
        }
    }

    fn index(self) -> usize {
        match self {
            Self::State => 0,
            Self::Rates => 1,
            Self::UsedOnce => 2,
            Self::Sessions => 3,
            Self::Messages => 4,
        }
    }
}

/// Everything that operations share.
pub(crate) struct StoreLink {
    dialer: Dialer,
    config: StoreConfig,
    runtime: Handle,
    state: Mutex<LinkState>,
    /// Held while a connection is opened.
    connecting: tokio::sync::Mutex<()>,
    counts: [AtomicCounts; StoreUse::ALL.len()],
    refused: LogIntervals<String>,
}

#[derive(Default)]
struct AtomicCounts {
    operations: AtomicU64,
    errors: AtomicU64,
}

#[derive(Default)]
struct LinkState {
    current: Option<Arc<ServerConnection>>,
    opened: u64,
    /// The earliest time of the next attempt.
    retry_at: Option<Instant>,
    /// The last attempt failed. Only the monitor tries again, so that operations don't wait for attempts.
    is_down: bool,
    server: Option<String>,
    /// The reason that the last attempt failed, which was logged.
    problem: Option<StoreError>,
    /// The warning that was logged.
    warning: Option<String>,
    monitor: Option<AbortOnDropHandle<()>>,
}

/// An open connection. Dropping it closes it.
pub(crate) struct ServerConnection {
    connection: MultiplexedConnection,
    number: u64,
    _driver: AbortOnDropHandle<()>,
}

impl SharedStore {
    /// The store of a configuration. It is connected in the background. Must be called in a Tokio runtime with timers and
    /// sockets, which lasts as long as the store.
    pub async fn open(config: &StoreConfig, ca_file: Option<PathBuf>) -> Self {
        let address = config.address.clone();
        let dialer = tokio::task::spawn_blocking(move || Dialer::new(address, ca_file.as_deref())).await;
        let link = Arc::new(StoreLink {
            dialer: dialer.expect("reading certificates doesn't panic"),
            config: config.clone(),
            runtime: Handle::current(),
            state: Mutex::default(),
            connecting: tokio::sync::Mutex::default(),
            counts: Default::default(),
            refused: LogIntervals::default(),
        });
        let monitor = tokio::spawn(monitor(Arc::downgrade(&link)));
        link.state().monitor = Some(AbortOnDropHandle::new(monitor));
        Self(link)
    }

    /// A key in the store. Its family, the part up to the first colon or brace, is one of
    /// [`KEY_FAMILIES`](crate::KEY_FAMILIES).
    #[must_use]
    pub fn key(&self, key: &str) -> String {
        format!("{}{key}", self.0.config.prefix)
    }

    /// Runs a command.
    ///
    /// # Errors
    /// The store can't be used, or it refuses the command. See [`StoreError::is_uncertain`].
    pub async fn run<T: FromRedisValue>(&self, purpose: StoreUse, command: &Cmd) -> Result<T, StoreError> {
        let run = async |connection: &ServerConnection| {
            connection.connection.clone().req_packed_command(command).await.and_then(Value::extract_error)
        };
        self.0.operate(purpose, run).await
    }

    /// Runs a script with arguments, such as `script.prepare_invoke()`. It is sent to the server if it doesn't know the
    /// script.
    ///
    /// # Errors
    /// The store can't be used, or the script fails. See [`StoreError::is_uncertain`].
    pub async fn run_script<T: FromRedisValue>(
        &self,
        purpose: StoreUse,
        call: &ScriptInvocation<'_>,
    ) -> Result<T, StoreError> {
        let run = async |connection: &ServerConnection| {
            call.invoke_async::<Value>(&mut connection.connection.clone()).await
        };
        self.0.operate(purpose, run).await
    }

    /// Sends a message to all gateways that subscribed to a channel.
    ///
    /// # Errors
    /// The store can't be used. The message can be lost anyway: its receivers compare what it is about.
    pub async fn publish(&self, channel: &str, payload: &[u8]) -> Result<(), StoreError> {
        let mut publish = redis::cmd("PUBLISH");
        publish.arg(self.key(channel)).arg(payload);
        self.run::<i64>(StoreUse::Messages, &publish).await.map(drop)
    }

    /// Waits until a connection is open, or returns why it isn't.
    ///
    /// # Errors
    /// The store can't be used.
    pub async fn connected(&self) -> Result<(), StoreError> {
        self.0.reconnected().await.map(drop)
    }

    /// The current status.
    #[must_use]
    pub fn status(&self) -> StoreStatus {
        let state = self.0.state();
        let count = |purpose: StoreUse| {
            let AtomicCounts { operations, errors } = &self.0.counts[purpose.index()];
            let [operations, errors] = [operations, errors].map(|count| count.load(Ordering::Relaxed));
            (purpose, UseCounts { operations, errors })
        };
        StoreStatus {
            address: self.0.address(),
            server: state.server.clone(),
            problem: state.problem.clone(),
            is_connected: state.current.is_some(),
            counts: StoreUse::ALL.map(count),
        }
    }

    /// The problem for the operator, after an attempt to connect.
    pub async fn problem(&self) -> Option<StateDiagnostic> {
        let error = match self.connected().await {
            Ok(()) => return None,
            Err(error) => self.0.state().problem.clone().unwrap_or(error),
        };
        let reason = format!("the shared store `{}` can't be used: {error}", self.0.address());
        Some(StateDiagnostic { reason, hint: error.hint().to_owned() })
    }

    pub(crate) fn link(&self) -> &Arc<StoreLink> {
        &self.0
    }
}

impl fmt::Debug for SharedStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedStore").field("address", &self.0.address()).finish_non_exhaustive()
    }
}

impl StoreLink {
    fn state(&self) -> MutexGuard<'_, LinkState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn address(&self) -> String {
        self.dialer.address().to_string()
    }

    pub(crate) fn dialer(&self) -> &Dialer {
        &self.dialer
    }

    pub(crate) fn config(&self) -> &StoreConfig {
        &self.config
    }

    pub(crate) fn runtime(&self) -> &Handle {
        &self.runtime
    }

    /// The credentials, for connections of the library.
    pub(crate) fn login(&self) -> RedisConnectionInfo {
        let StoreConfig { database, user, password, .. } = &self.config;
        let mut login = RedisConnectionInfo::default().set_db((*database).into()).set_skip_set_lib_name();
        if let Some(user) = user {
            login = login.set_username(user);
        }
        if let Some(password) = password {
            login = login.set_password(password.expose());
        }
        login
    }

    /// Runs an operation on the connection, and counts it.
    async fn operate<T: FromRedisValue>(
        self: &Arc<Self>,
        purpose: StoreUse,
        run: impl AsyncFnOnce(&ServerConnection) -> redis::RedisResult<Value>,
    ) -> Result<T, StoreError> {
        let counts = &self.counts[purpose.index()];
        counts.operations.fetch_add(1, Ordering::Relaxed);
        let result = self.attempt(run).await;
        if result.is_err() {
            counts.errors.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    async fn attempt<T: FromRedisValue>(
        self: &Arc<Self>,
        run: impl AsyncFnOnce(&ServerConnection) -> redis::RedisResult<Value>,
    ) -> Result<T, StoreError> {
        let connection = self.connection().await?;
        let error = match run(&connection).await {
            Ok(value) => match from_redis_value(value) {
                Ok(value) => return Ok(value),
                // The error quotes the reply, which can contain a plugin's state.
                Err(_) => StoreError::Server("the server's reply has an unexpected type".into()),
            },
            Err(error) => StoreError::from(error),
        };
        if error.ends_connection() {
            self.close(connection.number, error.clone());
        } else if let Some(times) = self.refused.record(error.to_string()) {
            let hint = error.hint();
            tracing::error!(times, "the shared store refused an operation: {error}; {hint}");
        }
        Err(error)
    }

    /// The connection, which is opened if there is none, unless the last attempt failed.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    async fn connection(self: &Arc<Self>) -> Result<Arc<ServerConnection>, StoreError> {
        if self.state().is_down {
            return Err(StoreError::Unreachable);
        }
        self.reconnected().await
    }

    /// The connection, which is opened if there is none.
    ///
    /// # Errors
    /// [`StoreError::Unreachable`].
    async fn reconnected(self: &Arc<Self>) -> Result<Arc<ServerConnection>, StoreError> {
        if let Some(known) = self.known() {
            return known;
        }
        // In a task of its own, because other operations wait for it, too.
        let this = Arc::clone(self);
        let opened = self.runtime.spawn(async move { this.connect().await }).await;
        opened.unwrap_or(Err(StoreError::Unreachable))
    }

    /// The open connection, or the reason that there is none. `None` means that one can be opened.
    fn known(&self) -> Option<Result<Arc<ServerConnection>, StoreError>> {
        let state = self.state();
        if let Some(connection) = &state.current {
            return Some(Ok(Arc::clone(connection)));
        }
        state.retry_at.filter(|at| *at > Instant::now()).map(|_| Err(StoreError::Unreachable))
    }

    async fn connect(self: Arc<Self>) -> Result<Arc<ServerConnection>, StoreError> {
        let _connecting = self.connecting.lock().await;
        if let Some(known) = self.known() {
            return known;
        }
        let opened = timeout(self.config.connect_timeout, self.open()).await;
        match opened.unwrap_or(Err(StoreError::Timeout)) {
            Ok((connection, facts)) => {
                self.report_connected(facts);
                let connection = Arc::new(connection);
                let mut state = self.state();
                state.retry_at = None;
                state.is_down = false;
                state.current = Some(Arc::clone(&connection));
                Ok(connection)
            }
            Err(error) => {
                self.state().is_down = true;
                self.report(error);
                Err(StoreError::Unreachable)
            }
        }
    }

    async fn open(self: &Arc<Self>) -> Result<(ServerConnection, ServerFacts), StoreError> {
        let stream = self.dialer.dial().await?;
        let limits = AsyncConnectionConfig::new()
            .set_connection_timeout(Some(self.config.connect_timeout))
            .set_response_timeout(Some(self.config.response_timeout));
        // Without logging in, because the library's errors don't tell why that failed.
        let without_login = RedisConnectionInfo::default().set_skip_set_lib_name();
        let (mut connection, driver) =
            MultiplexedConnection::new_with_config(&without_login, stream, limits).await?;
        let number = {
            let mut state = self.state();
            state.opened += 1;
            state.opened
        };
        let link = Arc::downgrade(self);
        let driver = AbortOnDropHandle::new(self.runtime.spawn(async move {
            driver.await;
            if let Some(link) = link.upgrade() {
                link.close(number, StoreError::Lost("the server closed it".into()));
            }
        }));
        log_in(&mut connection, &self.config).await?;
        let facts = check_server(&mut connection, &self.config.prefix).await?;
        Ok((ServerConnection { connection, number, _driver: driver }, facts))
    }

    /// Closes a connection, unless it was replaced.
    fn close(&self, number: u64, error: StoreError) {
        let closed = self.state().current.take_if(|current| current.number == number);
        if closed.is_some() {
            // The next operation opens a new one, unless the server doesn't respond, which takes long.
            let pause = if error == StoreError::Timeout { RECONNECT_PAUSE } else { Duration::ZERO };
            self.report_for(error, pause);
        }
    }

    /// Reports that no connection can be opened.
    fn report(&self, error: StoreError) {
        self.report_for(error, RECONNECT_PAUSE);
    }

    /// Logs an error, once while it stays the same.
    fn report_for(&self, error: StoreError, pause: Duration) {
        let mut state = self.state();
        state.retry_at = Some(Instant::now() + pause);
        if state.problem.as_ref() != Some(&error) {
            let (address, hint) = (self.address(), error.hint());
            tracing::error!("the shared store `{address}` can't be used: {error}; {hint}");
            state.problem = Some(error);
        }
    }

    fn report_connected(&self, facts: ServerFacts) {
        let ServerFacts { name, warning } = facts;
        let address = self.address();
        let mut state = self.state();
        let again = if state.problem.take().is_some() && state.server.is_some() { " again" } else { "" };
        tracing::info!("the shared store `{address}` ({name}) can be used{again}");
        state.server = Some(name);
        if state.warning != warning {
            if let Some(warning) = &warning {
                tracing::warn!("{warning}");
            }
            state.warning = warning;
        }
    }

    /// Checks that the server responds.
    async fn ping(self: &Arc<Self>, connection: &ServerConnection) {
        let command = set_marker(&self.config.prefix);
        if let Err(error) = connection.connection.clone().req_packed_command(&command).await {
            let error = StoreError::from(error);
            if error.ends_connection() {
                self.close(connection.number, error);
            }
        }
    }
}

/// Keeps the connection open, so that its problems are noticed even without operations.
async fn monitor(link: Weak<StoreLink>) {
    loop {
        let Some(store) = link.upgrade() else { return };
        let pause = match store.reconnected().await {
            Ok(connection) => {
                drop(store);
                sleep(PING_INTERVAL).await;
                let Some(store) = link.upgrade() else { return };
                store.ping(&connection).await;
                continue;
            }
            Err(_) => RECONNECT_PAUSE,
        };
        drop(store);
        sleep(pause).await;
    }
}

/// A script with a text that is known at compile time.
pub(crate) fn script(text: &str) -> Script {
    Script::new(text)
}

#[cfg(test)]
mod tests;
