//! A client that disconnects from the load balancer.

use moongate_tests::{Http, wait_until};
use serde_json::json;

use super::Replicas;

const ZOO: &str = "[plugins.zoo]\nsource = \"@zoo@\"\n";

#[test]
fn a_client_that_disconnects_from_the_load_balancer_cancels_its_call() {
    let Some(replicas) = Replicas::start(ZOO) else { return };
    let sum = |metric: &str| {
        replicas.gateways.iter().filter_map(|gateway: &Http| gateway.admin().metric(metric)).sum::<f64>()
    };
    let call = replicas.balancer.start_call("zoo_sleep_forever", json!({}));
    wait_until("the call runs", || sum(r#"moongate_plugin_instances{plugin="zoo"}"#) == 1.0);
    drop(call);
    let cancelled = r#"moongate_plugin_calls_total{plugin="zoo",kind="tool",tool="zoo_sleep_forever",outcome="cancelled"}"#;
    wait_until("the call is cancelled", || sum(cancelled) == 1.0);
}
