//! The configuration and the Compose file of `docs/containers.md`, with the commands that they run.

use std::collections::BTreeSet;
use std::fs;

use moongate_tests::{Http, Workspace, project_root};
use serde_json::{Map, Value, json};

fn page() -> String {
    fs::read_to_string(project_root().join("docs/containers.md")).unwrap()
}

/// The configurations on the page.
fn configurations() -> Vec<String> {
    let page = page();
    let blocks = page.split("```toml\n").skip(1).filter_map(|rest| rest.split_once("```"));
    blocks.map(|(text, _)| text.to_owned()).collect()
}

/// Parses the part of YAML that the Compose file uses: nested keys, and values that are valid JSON.
fn parse_yaml(text: &str) -> Value {
    let lines: Vec<&str> =
        text.lines().filter(|line| !line.is_empty() && !line.trim_start().starts_with('#')).collect();
    let (value, rest) = parse_mapping(&lines, 0);
    assert!(rest.is_empty(), "unexpected indentation: {rest:?}");
    value
}

/// Parses the lines with at least this indentation, and returns the others.
fn parse_mapping<'a>(mut lines: &'a [&'a str], indentation: usize) -> (Value, &'a [&'a str]) {
    let mut mapping = Map::new();
    while let Some((line, rest)) = lines.split_first() {
        if line.len() - line.trim_start().len() != indentation {
            break;
        }
        let (key, value) = line.trim_start().split_once(':').unwrap_or_else(|| panic!("no key: {line}"));
        let (value, rest) = match value.trim() {
            "" => parse_mapping(rest, indentation + 2),
            text => (serde_json::from_str(text).unwrap_or_else(|error| panic!("{line}: {error}")), rest),
        };
        assert_eq!(mapping.insert(key.to_owned(), value), None, "duplicate key: {line}");
        lines = rest;
    }
    (mapping.into(), lines)
}

fn compose() -> Value {
    let text = fs::read_to_string(project_root().join("contrib/container/compose.yaml")).unwrap();
    parse_yaml(&text)
}

fn words(value: &Value) -> Vec<&str> {
    value.as_array().unwrap().iter().map(|word| word.as_str().unwrap()).collect()
}

#[test]
fn compose_file_starts_a_gateway_that_passes_its_health_check() {
    let compose = compose();
    let service = &compose["services"]["moongate"];
    let config = configurations().remove(0);
    let local =
        config.replace("/run/secrets/moongate_token", "token").replace(":8931", ":0").replace(":8932", ":0");
    let workspace = Workspace::new(&local);
    workspace.write("token", "a-token-of-some-length");

    // The arguments of `command` follow the image's entry point, and the health check names it.
    let http = Http::spawn(workspace.command(&words(&service["command"])));
    let health = words(&service["healthcheck"]["test"]);
    let health = health.strip_prefix(&["CMD", "/usr/bin/moongate"]).unwrap_or_else(|| panic!("{service:#}"));
    let address = http.admin().address().to_string();
    let output = workspace.run(&[health, &["--admin", &address]].concat());
    assert!(output.status.success(), "{output:?}");
    assert!(page().contains(&service["healthcheck"]["test"].to_string().replace(',', ", ")), "{service:#}");
    assert_eq!(http.send("GET", "/readyz", &[], b"").status, 200, "`health` is set in the configuration");
    let refused = http.post(&[], &json!({ "jsonrpc": "2.0", "id": 1, "method": "ping" }));
    assert_eq!(refused.status, 401, "{refused:?}");
}

#[test]
fn compose_file_removes_all_privileges_and_defines_what_it_uses() {
    let compose = compose();
    let service = &compose["services"]["moongate"];
    assert_eq!(service["user"], "65532:65532");
    assert_eq!(service["read_only"], true);
    assert_eq!(service["cap_drop"], json!(["ALL"]));
    let keys = |value: &Value| value.as_object().unwrap().keys().cloned().collect::<BTreeSet<_>>();
    let volumes = words(&service["volumes"]);
    let named =
        volumes.iter().filter_map(|mount| mount.split(':').next()).filter(|name| !name.starts_with('.'));
    assert_eq!(named.map(str::to_owned).collect::<BTreeSet<_>>(), keys(&compose["volumes"]));
    let secrets = words(&service["secrets"]).into_iter().map(str::to_owned).collect::<BTreeSet<_>>();
    assert_eq!(secrets, keys(&compose["secrets"]));
    for path in volumes.iter().filter_map(|mount| mount.split(':').nth(1)) {
        assert!(page().contains(&format!("| `{path}` |")), "the page doesn't list {path}");
    }
}

#[test]
fn check_accepts_the_configurations_for_containers() {
    let configurations = configurations();
    assert_eq!(configurations.len(), 2);
    for config in configurations {
        let workspace = Workspace::new(&config.replace("/run/secrets/moongate_token", "token"));
        workspace.write("token", "a-token-of-some-length");
        let output = workspace.run(&["check"]);
        assert!(output.status.success(), "{output:?}\n{config}");
    }
}
