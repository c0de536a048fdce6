//! `fetch`: downloads the components of plugins from addresses, and locks what isn't locked yet.

use bytesize::ByteSize;
use clap::Args;
use moongate_config::LockedComponent;
use moongate_sources::{SourceError, SourceFetcher, update_lock};
use serde_json::json;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::remote_plugins::{RemotePlugin, RemotePlugins, source_error};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};

/// Download plugins from addresses, and lock those that aren't in moongate.lock yet
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate fetch                     everything that is missing
  moongate fetch time                one plugin
  moongate fetch --locked            in CI or an image: fail if moongate.lock isn't complete
  moongate fetch --locked --offline  check that the gateway can start

The gateway itself never uses the network for plugins: it loads the components that moongate.lock names.")]
pub(super) struct Fetch {
    /// Names of plugins in the configuration [default: all]
    #[arg(value_name = "PLUGIN")]
    plugins: Vec<String>,
    /// Fail if moongate.lock would change
    #[arg(long)]
    locked: bool,
    /// Don't use the network; fail if something must be downloaded
    #[arg(long)]
    offline: bool,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// The effect of `fetch` on a plugin.
struct FetchOutcome {
    locked: LockedComponent,
    action: FetchAction,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum FetchAction {
    /// The component was locked and in the store.
    None,
    /// The component was locked, and its bytes were downloaded.
    Downloaded,
    /// The address was resolved.
    Locked,
    /// The signature was checked again.
    Verified,
}

impl FetchAction {
    fn as_str(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Downloaded => "downloaded",
            Self::Locked => "locked",
            Self::Verified => "verified",
        }
    }

    /// Reports whether the lock file changes.
    fn changes_lock(self) -> bool {
        match self {
            Self::None | Self::Downloaded => false,
            Self::Locked | Self::Verified => true,
        }
    }
}

impl Fetch {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let plugins = RemotePlugins::read(common, &self.plugins)?;
        let fetcher = plugins.fetcher().await?;
        let option = configuration::config_option(common);
        let mut done = Vec::new();
        let mut failure = None;
        for plugin in &plugins.selected {
            match self.fetch(plugin, &plugins, &fetcher, &option).await {
                Ok(outcome) => done.push((plugin, outcome)),
                Err(error) => {
                    let earlier = failure.unwrap_or_else(|| CommandError::new(ExitKind::Failure));
                    failure = Some(plugin.failed(earlier, &error));
                }
            }
        }
        self.write_lock(&plugins, &done)?;
        let documents = done.iter().map(|(plugin, outcome)| {
            plugin.document(&outcome.locked, &plugins.config, outcome.action.as_str())
        });
        let documents = json!(documents.collect::<Vec<_>>());
        if self.format == OutputFormat::Text {
            print::stdout(
                &done.iter().map(|(plugin, outcome)| line(plugin, outcome, &plugins)).collect::<String>(),
            )?;
        }
        match (failure, self.format) {
            (Some(failure), _) => Err(failure.member("plugins", documents)),
            (None, OutputFormat::Json) => {
                print::json(&json!({ "plugins": documents }))?;
                Ok(ExitKind::Success)
            }
            (None, OutputFormat::Text) => {
                if plugins.selected.is_empty() {
                    print::note("no plugin comes from an address");
                }
                Ok(ExitKind::Success)
            }
        }
    }

    async fn fetch(
        &self,
        plugin: &RemotePlugin,
        plugins: &RemotePlugins,
        fetcher: &SourceFetcher,
        config_option: &str,
    ) -> Result<FetchOutcome, SourceError> {
        let forbidden = |reason: &str| {
            let option = if self.offline { "--offline" } else { "--locked" };
            SourceError::new(reason)
                .with_hint(format!("run `moongate fetch {}{config_option}` without `{option}`", plugin.id()))
        };
        let request = plugin.request();
        let Some(locked) = plugin.entry(&plugins.lock) else {
            if self.locked || self.offline {
                return Err(forbidden("its address isn't locked"));
            }
            let locked = fetcher.fetch(&request).await?;
            return Ok(FetchOutcome { locked, action: FetchAction::Locked });
        };
        let mut locked = locked.clone();
        let mut action = FetchAction::None;
        if fetcher.store().find(&locked.component).is_none() {
            if self.offline {
                return Err(forbidden("its component isn't in the cache"));
            }
            let signer = fetcher.fetch_locked(&request, &locked).await?;
            action = FetchAction::Downloaded;
            if signer.is_some() && signer != locked.signer {
                if self.locked {
                    return Err(forbidden("it is signed with another key than the locked one"));
                }
                locked.signer = signer;
                action = FetchAction::Verified;
            }
        }
        if !request.signatures.accepts(locked.signer.as_ref()) {
            if self.locked || self.offline {
                return Err(forbidden("its signature must be checked"));
            }
            locked.signer = fetcher.verify_locked(&request, &locked).await?;
            action = FetchAction::Verified;
        }
        Ok(FetchOutcome { locked, action })
    }

    /// Writes new entries. Without names of plugins, also removes those of plugins that don't come from addresses.
    fn write_lock(
        &self,
        plugins: &RemotePlugins,
        done: &[(&RemotePlugin, FetchOutcome)],
    ) -> Result<(), CommandError> {
        if self.locked {
            return Ok(());
        }
        let changed = done.iter().filter(|(_, outcome)| outcome.action.changes_lock());
        let changed: Vec<_> =
            changed.map(|(plugin, outcome)| (plugin.id().clone(), outcome.locked.clone())).collect();
        let removed = plugins.lock.plugins.keys().filter(|id| {
            self.plugins.is_empty() && !plugins.selected.iter().any(|plugin| plugin.id() == *id)
        });
        let removed: Vec<_> = removed.collect();
        if changed.is_empty() && removed.is_empty() {
            return Ok(());
        }
        let written = update_lock(&plugins.config.sources.lock_file, |lock| {
            lock.plugins.retain(|id, _| !removed.contains(&id));
            lock.plugins.extend(changed);
        });
        written.map(drop).map_err(source_error)
    }
}

/// The line about a plugin.
fn line(plugin: &RemotePlugin, outcome: &FetchOutcome, plugins: &RemotePlugins) -> String {
    let FetchOutcome { locked, action } = outcome;
    let verb = match action {
        FetchAction::None => "already fetched",
        FetchAction::Downloaded => "downloaded",
        FetchAction::Locked => "fetched",
        FetchAction::Verified => "signature checked",
    };
    let signer = plugin.signer_name(locked, &plugins.config).map(|name| format!(", signed by {name}"));
    format!(
        "{}: {verb}: {} (sha256:{}, {}{})\n",
        plugin.id(),
        print::inline(&plugin.source.reference.shown()),
        locked.component,
        ByteSize::b(locked.size).display().iec(),
        signer.unwrap_or_default()
    )
}
