//! `dev`: builds the plugin of a project, serves it, and replaces it after each save.

use std::collections::BTreeSet;
use std::env;
use std::io::{self, IsTerminal as _};
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::Range;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

use anyhow::Context as _;
use clap::Args;
use moongate_config::{AuditConfig, Config, Diagnostic, DirMode, LockFile, PluginConfig};
use moongate_model::names::{Digest, PluginId};

use crate::app::{App, ReloadSignal, ShutdownSignals, StopReason, SystemSignals};
use crate::cli::build::{ONE_PLUGIN_NEEDED, ProjectKind, plugin_from_file, usage, written_files};
use crate::cli::configuration::{self, CONFIG_FILE_NAME};
use crate::cli::error::{CommandError, CommandResult};
use crate::cli::serve::{Serve, address};
use crate::cli::{CommonOptions, ExitKind, check, print, prompt};
use crate::supervisor::control::{ReloadCause, ReloadResult};
use crate::supervisor::status::{OfferCounts, PluginStatus};

mod build_process;
mod call_prompt;
mod project_config;
mod source_watcher;

use build_process::BuildProcess;
use call_prompt::CallPrompt;
use source_watcher::{SourceChange, SourceWatcher};

/// The page of the admin listener on which tools can be tried.
const TRIAL_PAGE: &str = "/try";

/// The number of builds in a row during each of which a source changed, after which a note is printed.
const MAX_SAVES_DURING_BUILDS: usize = 3;

/// Build and serve the plugin in a directory, and replace it after each save
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate dev
  moongate dev hello --inspect

The directory is a project that `moongate new` created, or one that `moongate build` can build. The plugin is served over \
HTTP with the grants in the project's gateway.toml, which is created if it is missing. If a build fails, the earlier one \
keeps serving.

On a terminal, type a tool and its arguments to call it, such as `greet name=Ada`; the tool's questions are asked there, \
too. From elsewhere, use `moongate call --url` or a host. Ctrl-C stops everything.")]
pub(super) struct Dev {
    /// Directory of the project [default: the current directory]
    #[arg(value_name = "PATH")]
    directory: Option<PathBuf>,
    /// Serve MCP at ADDR: `IP:PORT`, or a port on 127.0.0.1 [default: `listen` in `[http]`]
    #[arg(long, value_name = "ADDR", value_parser = address)]
    http: Option<SocketAddr>,
    /// Also serve the status page at a free port of 127.0.0.1, and open its page for trying tools in a browser
    #[arg(long)]
    inspect: bool,
}

/// A project that is being developed. Its directory is the current one.
struct DevProject {
    common: CommonOptions,
    kind: ProjectKind,
    config_file: PathBuf,
    /// The plugin's name in the configuration.
    plugin: PluginId,
    /// The component's file.
    component: PathBuf,
    sources: SourceWatcher,
    /// The start and the end of the last build.
    built: Range<SystemTime>,
    /// The number of builds in a row during each of which a source changed.
    saves_during_builds: usize,
    /// The warnings of missing grants that were printed last.
    warnings: Vec<Diagnostic>,
}

/// The colour of a status line.
#[derive(Debug, Clone, Copy)]
enum StatusColour {
    Green,
    Yellow,
    Red,
}

impl Dev {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        let Self { directory, http, inspect } = self;
        let named = common.config.as_ref().filter(|_| common.is_config_typed);
        let named =
            named.map(std::path::absolute).transpose().context("can't resolve the path of `--config`")?;
        if let Some(directory) = directory {
            env::set_current_dir(&directory).map_err(|error| {
                let message = format!("can't open the directory `{}`: {error}", directory.display());
                CommandError::new(ExitKind::Usage).message(&message, None)
            })?;
        }
        let mut project = DevProject::open(named, common.clone())?;
        let SystemSignals { shutdown: mut stops, reload: mut hangups } =
            SystemSignals::listen().context("can't handle signals")?;
        tokio::select! {
            () = project.build_until_good() => {}
            () = stop_requested(&mut stops, &mut hangups) => return Ok(ExitKind::Success),
        }
        // The author may have changed it during the build.
        let since = SystemTime::now();
        let loaded = configuration::read(Some(&project.config_file));
        let admin = inspect.then_some(SocketAddr::from((Ipv4Addr::LOCALHOST, 0)));
        let serve = Serve::for_development(http, admin);
        let mut gateway = match Box::pin(serve.start(loaded, since, stops)).await {
            Ok(gateway) => gateway,
            Err(exit) => return Ok(exit),
        };
        project.report_missing_grants(&gateway.app);
        if inspect && let Some(address) = gateway.app.admin_address() {
            let page = format!("http://{address}{TRIAL_PAGE}");
            print::stderr_lines(&format!("inspect   {page}\n"));
            open_in_browser(&page);
        }
        if !common.quiet {
            print::stderr_lines("watching  the sources; each save builds and replaces the plugin\n");
        }
        let prompt = prompt::can_ask()
            .then(|| CallPrompt::start(Arc::clone(gateway.app.supervisor()), common.clone()));
        tokio::select! {
            () = project.apply_saves(&gateway.app) => {}
            () = stop_requested(&mut gateway.stops, &mut hangups) => {}
        }
        drop(prompt);
        gateway.shut_down(StopReason::Requested).await;
        Ok(ExitKind::Success)
    }
}

/// Waits for a signal that ends the command. The system sends SIGHUP when the terminal is closed.
async fn stop_requested(stops: &mut ShutdownSignals, hangups: &mut ReloadSignal) {
    tokio::select! {
        _ = stops.next() => {}
        () = hangups.next() => {}
    }
}

impl DevProject {
    /// Opens the project in the current directory, with the configuration `named` on the command line.
    ///
    /// # Errors
    /// The directory contains no project, or its configuration is invalid.
    fn open(named: Option<PathBuf>, common: CommonOptions) -> Result<Self, CommandError> {
        let kind = ProjectKind::of_current_directory()?;
        let root = env::current_dir().context("can't find the current directory")?;
        let config_file = named.unwrap_or_else(|| root.join(CONFIG_FILE_NAME));
        if !config_file.exists() {
            project_config::create(kind, &root, &config_file)?;
            let shown = config_file.strip_prefix(&root).unwrap_or(&config_file);
            print::note(&format!("created `{}`, which grants the plugin nothing", shown.display()));
        }
        let loaded = configuration::read(Some(&config_file));
        let Some(config) = loaded.config else {
            return Err(
                CommandError::new(ExitKind::Configuration).diagnostics(&loaded.problems, &loaded.source)
            );
        };
        let hint = "keep the plugin of this project there, and serve others from another configuration";
        let plugin = plugin_from_file(&config).ok_or_else(|| usage(ONE_PLUGIN_NEEDED, hint))?;
        let excluded = paths_without_sources(&config, &root);
        let now = SystemTime::now();
        Ok(Self {
            common,
            kind,
            plugin: plugin.id.clone(),
            component: plugin.source.clone(),
            sources: SourceWatcher::new(root, excluded),
            config_file,
            built: now..now,
            saves_during_builds: 0,
            warnings: Vec::new(),
        })
    }

    /// Waits for the next save, and prints that a build starts.
    async fn next_save(&mut self) -> SourceChange {
        let change = self.sources.changed().await;
        self.print_status("Building", StatusColour::Yellow, &change.to_string());
        let is_during_build = self.built.contains(&change.saved_at);
        self.saves_during_builds = if is_during_build { self.saves_during_builds + 1 } else { 0 };
        if self.saves_during_builds == MAX_SAVES_DURING_BUILDS {
            print::note(&format!(
                "{change} during each of the last {MAX_SAVES_DURING_BUILDS} builds; if the build generates it, write it to \
                 `target`, or each build starts another one"
            ));
        }
        self.read_plugin();
        change
    }

    /// Reads the plugin's name and its component's file again, which the author may have changed. An invalid configuration
    /// changes nothing.
    fn read_plugin(&mut self) {
        let Some(config) = configuration::read(Some(&self.config_file)).config else { return };
        let Some(plugin) = plugin_from_file(&config) else { return };
        self.plugin = plugin.id.clone();
        self.component.clone_from(&plugin.source);
        let excluded = paths_without_sources(&config, self.sources.root());
        self.sources.exclude(excluded);
    }

    /// Builds after each save until a build succeeds. Saves of the configuration count, because it may name the wrong
    /// component; once the gateway serves, it applies them itself.
    async fn build_until_good(&mut self) {
        self.print_status("Building", StatusColour::Yellow, &format!("`{}`", self.plugin));
        while let Err(error) = self.build().await {
            error.report(false);
            print::note("save a file to build again");
            self.next_save().await;
        }
        self.sources.exclude([self.config_file.clone()]);
    }

    /// Builds the component. Dropping the future ends the build.
    async fn build(&mut self) -> Result<(), CommandError> {
        let started_at = SystemTime::now();
        let built = self.run_tool().await;
        self.built = started_at..SystemTime::now();
        built
    }

    async fn run_tool(&self) -> Result<(), CommandError> {
        let mut tool = self.kind.tool(&self.component, &self.common)?;
        let status = match BuildProcess::start(&mut tool.command) {
            Ok(process) => process.wait().await,
            Err(error) => Err(error),
        };
        tool.check(status)?;
        self.kind.finish(&self.component)?;
        if self.component.is_file() {
            return Ok(());
        }
        let message = format!("the build didn't write `{}`", self.component.display());
        let hint =
            format!("set `source` in `[plugins.{}]` to the component that the build writes", self.plugin);
        Err(CommandError::new(ExitKind::Failure).message(&message, Some(&hint)))
    }

    /// Builds after each save, and replaces the plugin.
    async fn apply_saves(&mut self, app: &App) {
        let mut failures = Vec::new();
        loop {
            let change = self.next_save().await;
            let before = self.digest(app);
            if let Err(error) = self.build().await {
                error.report(false);
                self.print_status("Not live", StatusColour::Red, "the earlier build keeps serving");
                continue;
            }
            let Ok(reloaded) = app.supervisor().reloader().reload(ReloadCause::Build).await else { return };
            let ReloadResult { changed: _, mut failed, needs_restart: _ } = reloaded;
            let subject = format!("`{}`: ", self.plugin);
            failed.retain(|failure| failure.starts_with(&subject));
            let is_new = self.digest(app) != before;
            if is_new || failed.is_empty() {
                self.report_live(app, is_new, change.saved_at);
                self.report_missing_grants(app);
            } else {
                // The log already has new failures.
                failed
                    .iter()
                    .filter(|failure| failures.contains(*failure))
                    .for_each(|it| print::error(it, None));
                self.print_status("Not live", StatusColour::Red, "the earlier build keeps serving");
            }
            failures = failed;
        }
    }

    /// Prints that the build serves, and the time since the save.
    fn report_live(&self, app: &App, is_new: bool, saved_at: SystemTime) {
        let took = saved_at.elapsed().unwrap_or_default();
        let took = format!("{:.1} s after the save", took.as_secs_f64());
        if !is_new {
            let text = format!("the build made the same component, {took}");
            return self.print_status("Unchanged", StatusColour::Green, &text);
        }
        let counts = self.status(app).map(|plugin| plugin.offer_counts).unwrap_or_default();
        self.print_status("Live", StatusColour::Green, &format!("{}, {took}", offer(counts)));
    }

    fn status(&self, app: &App) -> Option<PluginStatus> {
        let status = app.supervisor().status();
        let status = status.borrow();
        status.plugins.iter().find(|plugin| plugin.id == self.plugin).cloned()
    }

    /// The digest of the component that serves.
    fn digest(&self, app: &App) -> Option<Digest> {
        self.status(app)?.digest
    }

    /// Warns of capabilities that the plugin was built to use, but isn't granted. Each warning is printed once.
    fn report_missing_grants(&mut self, app: &App) {
        let loaded = configuration::read(Some(&self.config_file));
        let Some(config) = &loaded.config else { return };
        let Some(plugin) = plugin_from_file(config) else { return };
        let catalog = Arc::clone(&app.supervisor().catalog().borrow());
        let Some(served) = catalog.plugin(&plugin.id) else { return };
        let warnings = check::grant_mismatches(served, plugin, config.state.as_deref());
        let is_new = |warning: &&Diagnostic| !self.warnings.contains(warning);
        let new: Vec<_> = warnings.iter().filter(is_new).cloned().collect();
        print::diagnostics(&new, &loaded.source);
        self.warnings = warnings;
    }

    /// Prints one line, whose first words have a colour on a terminal. `--quiet` leaves only failures.
    fn print_status(&self, word: &str, colour: StatusColour, text: &str) {
        let code = match colour {
            StatusColour::Green | StatusColour::Yellow if self.common.quiet => return,
            StatusColour::Green => 32,
            StatusColour::Yellow => 33,
            StatusColour::Red => 31,
        };
        print::labelled(word, code, text);
    }
}

/// Paths that no build reads: components, files that the gateway writes, and directories that plugins write to.
fn paths_without_sources(config: &Config, root: &Path) -> BTreeSet<PathBuf> {
    let written = |plugin: &Arc<PluginConfig>| {
        let dirs = plugin.allow.dirs.iter().filter(|dir| dir.mode == DirMode::ReadWrite);
        dirs.map(|dir| dir.unresolved_host_path.clone()).collect::<Vec<_>>()
    };
    let written = config.plugins.iter().flat_map(written).filter(|path| path != root);
    let components = config.plugins.iter().flat_map(|plugin| written_files(&plugin.source));
    let own =
        [config.cache.clone(), LockFile::path_for(&config.file)].into_iter().chain(config.state.clone());
    let audit = config.audit.iter().flat_map(AuditConfig::files);
    written.chain(components).chain(own).chain(audit).collect()
}

/// The items that a plugin offers, in words.
fn offer(counts: OfferCounts) -> String {
    let OfferCounts { tools, resources, templates, prompts } = counts;
    let others = [(resources, "resource"), (templates, "resource template"), (prompts, "prompt")];
    let others = others.iter().filter(|(number, _)| *number > 0);
    let parts = others.map(|(number, one)| print::count(*number, one));
    [print::count(tools, "tool")].into_iter().chain(parts).collect::<Vec<_>>().join(", ")
}

/// Opens a page in the user's browser, if there is a display.
fn open_in_browser(page: &str) {
    let has_display = ["DISPLAY", "WAYLAND_DISPLAY"].iter().any(|name| env::var_os(name).is_some());
    if !io::stderr().is_terminal() || !(has_display || cfg!(target_os = "macos")) {
        return;
    }
    let mut command = Command::new(if cfg!(target_os = "macos") { "open" } else { "xdg-open" });
    // Ctrl-C is for the gateway, not for the browser.
    command.arg(page).process_group(0).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // Without such a program, the user opens the page that was printed.
    drop(thread::spawn(move || command.status()));
}
