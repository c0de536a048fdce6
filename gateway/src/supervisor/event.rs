//! What can happen to the supervisor.

use std::collections::{BTreeMap, BTreeSet};
use std::path::PathBuf;
use std::sync::Arc;

use moongate_core::config::{self, PluginConfig, WatchConfig};
use moongate_core::names::PluginId;
use tokio::sync::{mpsc, watch};
use tokio::time::Instant;

use crate::host::Reported;

use super::attend::Attended;
use super::code::Loaded;
use super::control::Request;
use super::relist::Asked;
use super::status::Watching;

/// All that can happen.
#[derive(Debug)]
pub(super) enum Event {
    /// These files may hold something else.
    Changed(BTreeSet<PathBuf>),
    /// Somebody asks for a reload.
    Asked(Request),
    /// Plugins said that something changed.
    Reported(BTreeMap<PluginId, Reported>),
    /// Something that took a while came to an end.
    Done(Box<Done>),
    /// It is time for something that had to wait.
    Due,
    /// Changes of files are noticed in another way.
    Watching(Watching),
}

/// What came to an end.
#[derive(Debug)]
pub(super) enum Done {
    /// A plugin was looked at.
    Attended {
        /// Whose slot it was.
        serial: u64,
        /// The table that it was looked at with.
        table: Arc<PluginConfig>,
        /// What it came to.
        attended: Attended,
    },
    /// A plugin was asked anew what it offers.
    Relisted {
        /// Whose slot it was.
        serial: u64,
        /// Which.
        plugin: PluginId,
        /// As it was when it was asked.
        before: Loaded,
        /// What it answered.
        asked: Asked,
    },
    /// The configuration was read.
    Read(Box<config::Loaded>),
}

/// Where changes of files come from, and what is to be watched.
#[derive(Debug)]
pub(super) struct Files {
    pub(super) wanted: watch::Sender<Wanted>,
    pub(super) noticed: mpsc::Receiver<Noticed>,
}

/// What is to be watched, and how.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Wanted {
    pub(super) files: BTreeSet<PathBuf>,
    pub(super) how: WatchConfig,
}

/// What was noticed.
#[derive(Debug)]
pub(super) enum Noticed {
    /// These files may hold something else.
    Changed(BTreeSet<PathBuf>),
    /// Changes are noticed in another way than before.
    Watching(Watching),
}

impl Files {
    /// Whoever watches gets the other ends.
    pub(super) fn new(wanted: Wanted) -> (Self, watch::Receiver<Wanted>, mpsc::Sender<Noticed>) {
        let (wanted, is_wanted) = watch::channel(wanted);
        let (notice, noticed) = mpsc::channel(1);
        (Self { wanted, noticed }, is_wanted, notice)
    }
}

/// Waits for a time; for ever, where there is none.
pub(super) async fn until(time: Option<Instant>) {
    match time {
        Some(time) => tokio::time::sleep_until(time).await,
        None => std::future::pending().await,
    }
}
