//! Three gateways with a shared store behind HAProxy in round-robin, with the configuration of docs/scaling.md: every
//! request can reach another gateway than the one before.

/// Killed and stopped gateways and stores, and a slow network between them.
mod chaos;
/// A client that survives these.
mod client;
/// Different clocks.
mod clocks;
/// A client that disconnects.
mod disconnect;
/// Many questions, and many replaced plugins.
mod storm;
/// Gateways that are replaced one after another.
mod update;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use moongate_tests::{
    ClientProgress, Http, StoreNetwork, StoreServer, Workspace, fixed_address, send_signal, wait_until,
};

/// The number of gateways.
const GATEWAYS: usize = 3;

/// Each client succeeds again within this time. A lost call takes about 20 seconds, and the machine can be busy.
const MAX_RECOVERY: Duration = Duration::from_secs(90);

/// The gateways, the store, and the load balancer.
struct Replicas {
    store: StoreServer,
    /// The way from the gateways to the store.
    network: StoreNetwork,
    workspaces: Vec<Workspace>,
    gateways: Vec<Http>,
    balancer: Http,
    /// The number of gateways that were killed so far.
    kills: Arc<AtomicU32>,
}

impl Replicas {
    /// Starts gateways with these plugins. The store keeps everything that it has acknowledged. `None` if a program isn't
    /// installed.
    fn start(plugins: &str) -> Option<Self> {
        let store = StoreServer::start(&["--appendonly", "yes", "--appendfsync", "always"])?;
        let network = store.network();
        let addresses = [(); GATEWAYS].map(|()| fixed_address());
        let workspace = |address: &SocketAddr| {
            let workspace = Workspace::new(&format!(
                "[gateway]\nsealing_key = {{ file = \"sealing-key\" }}\n[store]\nurl = \"{}\"\n\
                 [http]\nlisten = \"{address}\"\nhealth = true\ntrusted_proxies = [\"127.0.0.1\"]\n\
                 allowed_hosts = [\"gateway.example.com\"]\nkeep_alive = \"1s\"\n\
                 [admin]\nlisten = \"127.0.0.1:0\"\n{plugins}",
                network.url()
            ));
            workspace.write("sealing-key", "0123456789abcdef0123456789abcdef");
            workspace
        };
        let workspaces: Vec<Workspace> = addresses.iter().map(workspace).collect();
        let balancer = Http::balancing(&addresses, &workspaces[0])?;
        let gateways = workspaces.iter().map(Http::start).collect();
        let replicas = Self { store, network, workspaces, gateways, balancer, kills: Arc::default() };
        replicas.wait_until_balanced();
        Some(replicas)
    }

    /// Kills a gateway.
    fn kill(&self, gateway: usize) {
        send_signal(self.gateways[gateway].pid(), "KILL");
        self.kills.fetch_add(1, Ordering::SeqCst);
    }

    /// Starts a gateway again that was killed.
    fn restart(&mut self, gateway: usize) {
        let address = self.gateways[gateway].address();
        wait_until("the port is free", || TcpListener::bind(address).is_ok());
        self.gateways[gateway] = Http::start(&self.workspaces[gateway]);
    }

    /// Replaces a gateway, as an update does, and waits until clients call the new one.
    fn update(&mut self, gateway: usize) {
        let (status, log) = self.gateways.remove(gateway).terminate();
        assert!(status.success(), "{status}: {log}");
        assert!(!log.contains("panicked") && !log.contains("aborted"), "{log}");
        let new = Http::start(&self.workspaces[gateway]);
        let is_called = || new.admin().get("/metrics").body.contains("\nmoongate_plugin_calls_total{");
        wait_until("the load balancer uses the new gateway", is_called);
        self.gateways.insert(gateway, new);
    }

    /// Waits until the load balancer sends requests to all gateways.
    fn wait_until_balanced(&self) {
        for gateway in &self.gateways {
            wait_until("every gateway serves", || gateway.send("GET", "/readyz", &[], b"").status == 200);
        }
        wait_until("the load balancer has a gateway", || {
            self.balancer.send("GET", "/readyz", &[], b"").status == 200
        });
    }
}

/// Waits until each of these clients has succeeded this many more times.
fn wait_until_all_continue<'a>(
    progress: &ClientProgress,
    clients: impl Iterator<Item = &'a str>,
    times: u32,
) {
    let rounds = |client: usize| progress.newest_seen(&[client]);
    let goals: Vec<(usize, &str, u32)> =
        clients.enumerate().map(|(client, name)| (client, name, rounds(client) + times)).collect();
    let started = Instant::now();
    loop {
        let late = goals.iter().filter(|(client, _, goal)| rounds(*client) < *goal);
        let names: Vec<&str> = late.map(|(_, name, _)| *name).collect();
        if names.is_empty() {
            return;
        }
        assert!(started.elapsed() < MAX_RECOVERY, "these clients don't continue: {names:?}");
        progress.wait_for_responses(1);
    }
}
