//! The alert rules and the dashboard in `contrib/`: each metric that they name is exported, and each expression is valid.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;

use moongate_tests::{Http, Workspace, installed, project_root};
use serde_json::{Value, json};

/// Everything that adds metrics. The collector and the store needn't respond.
const GATEWAY: &str = r#"
[gateway]
sealing_key = { file = "key" }
[http]
listen = "127.0.0.1:0"
[admin]
listen = "127.0.0.1:0"
[audit]
[telemetry]
otlp = "http://127.0.0.1:1"
[store]
url = "redis://127.0.0.1:1"
connect_timeout = "100ms"
[plugins.zoo]
source = "@zoo@"
[plugins.zoo.limits]
concurrency = 1
queue = 0
[plugins.zoo.rates.echo]
calls = { rate = "1/d", burst = 1 }
"#;

fn rules() -> PathBuf {
    project_root().join("contrib/prometheus/moongate.rules.yml")
}

fn dashboard() -> String {
    fs::read_to_string(project_root().join("contrib/grafana/moongate.json")).unwrap()
}

/// The metrics that a text names.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    let prefixes = ["moongate_", "mcp_server_", "process_"];
    words.filter(|word| prefixes.iter().any(|prefix| word.starts_with(prefix))).collect()
}

#[test]
fn rules_and_dashboard_name_only_exported_metrics() {
    let workspace = Workspace::new(GATEWAY);
    workspace.write("key", "0123456789abcdef0123456789abcdef");
    let http = Http::start(&workspace);
    let _ = http.call("zoo_echo", json!({ "text": "a" }));
    let _ = http.call("zoo_echo", json!({ "text": "a" })); // refused by its rate
    let refused = http.send("POST", "/nowhere", &[], b"");
    assert_eq!(refused.status, 404);
    let exported = http.admin().get("/metrics").body;
    let exported: BTreeSet<&str> =
        exported.lines().filter_map(|line| line.split(['{', ' ']).next()).collect();
    let rules = fs::read_to_string(rules()).unwrap();
    let dashboard = dashboard();
    for (file, text) in [("rules", &rules), ("dashboard", &dashboard)] {
        let named = metrics(text);
        assert!(named.len() > 5, "{file}: {named:?}");
        let unknown: Vec<_> = named.iter().filter(|name| !exported.contains(**name)).collect();
        assert!(unknown.is_empty(), "{file}: {unknown:?} in {exported:#?}");
    }
}

#[test]
fn expressions_of_rules_and_dashboard_are_valid() {
    let Some(promtool) = installed("promtool") else { return };
    let workspace = Workspace::new("");
    let dashboard: Value = serde_json::from_str(&dashboard()).unwrap();
    let targets =
        dashboard["panels"].as_array().unwrap().iter().flat_map(|panel| panel["targets"].as_array());
    let expressions: Vec<&str> = targets.flatten().map(|target| target["expr"].as_str().unwrap()).collect();
    assert!(expressions.len() > 20, "{expressions:?}");
    let records = expressions.iter().enumerate().map(|(at, expression)| {
        let expression = expression.replace("$__rate_interval", "5m");
        json!({ "record": format!("panel:{at}"), "expr": expression })
    });
    let of_dashboard = json!({ "groups": [{ "name": "dashboard", "rules": records.collect::<Vec<_>>() }] });
    workspace.write("dashboard.json", of_dashboard.to_string()); // YAML, too
    for file in [rules(), workspace.path().join("dashboard.json")] {
        let checked = Command::new(&promtool).args(["check", "rules"]).arg(&file).output().unwrap();
        let output = String::from_utf8_lossy(&checked.stderr);
        assert!(checked.status.success(), "{}: {output}", file.display());
    }
}
