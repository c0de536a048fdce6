//! Tests that suggested lines grant the request that they were made for.

use std::collections::BTreeMap;
use std::path::Path;

use super::*;
use crate::{LoadedConfig, parse_config};

/// Loads a plugin with these items of `http`.
fn read(http: &str) -> LoadedConfig {
    let text = format!("version = 1\n[plugins.x]\nsource = 'x.wasm'\n[plugins.x.allow]\nhttp = [{http}]\n");
    let variables = BTreeMap::from([("HOME".to_owned(), "/nowhere".to_owned())]);
    parse_config(Path::new("/nowhere/gateway.toml"), text, &variables)
}

/// The grants of these items of `http`, which are valid.
#[track_caller]
fn grants(items: &[&str]) -> Grants {
    let http = items.join(", ");
    let loaded = read(&http);
    let Some(config) = loaded.config else { panic!("{http}: {:?}", loaded.problems) };
    config.plugins[0].allow.clone()
}

/// The only item of a line.
fn item(line: &str) -> &str {
    let item = line.strip_prefix("http = [").and_then(|rest| rest.strip_suffix(']'));
    item.unwrap_or_else(|| panic!("not a line with one grant: {line}"))
}

/// Reports whether a request to this address is allowed.
fn goes(grants: &Grants, target: &RequestTarget, address: IpAddr) -> bool {
    let by = |grant: &&HttpGrant| grant.covers(target) && grant.allows_address(address);
    grants.http.iter().any(|grant| by(&grant))
}

const PUBLIC: &str = "93.184.216.34";

/// The grants, the method and URL of the request, the address of its host, and the suggestion.
type Row = (&'static [&'static str], &'static str, &'static str, &'static str, &'static str);

const ROWS: [Row; 20] = [
    (&[], "GET", "https://a.example/x?y", PUBLIC, "'https://a.example'"),
    (&[], "POST", "http://a.example:81/", PUBLIC, "'http://a.example:81'"),
    (
        &["{ url = 'https://a.example', methods = ['GET'] }"],
        "POST",
        "https://a.example/x/y?z",
        PUBLIC,
        "{ url = 'https://a.example/x/y', methods = ['POST'] }",
    ),
    (
        &["'https://*.example/read'"],
        "get",
        "https://a.example/write/",
        PUBLIC,
        "{ url = 'https://a.example/write/', methods = ['GET'] }",
    ),
    (
        &["'https://a.example/read'"],
        "GET",
        "https://a.example/a/%2e%2e%2fb",
        PUBLIC,
        "{ url = 'https://a.example', methods = ['GET'] }",
    ),
    (
        &["'https://a.example/read'"],
        "GET",
        "https://a.example/a/b*c/d",
        PUBLIC,
        "{ url = 'https://a.example/a', methods = ['GET'] }",
    ),
    (
        &["'https://a.example/read'"],
        "GET",
        "https://a.example/a//b",
        PUBLIC,
        "{ url = 'https://a.example/a/', methods = ['GET'] }",
    ),
    (
        &[],
        "GET",
        "http://127.0.0.1:8080/x",
        "127.0.0.1",
        "{ url = 'http://127.0.0.1:8080', networks = ['127.0.0.1/32'] }",
    ),
    (
        &[],
        "GET",
        "http://0x7f.1:8080/x",
        "127.0.0.1",
        "{ url = 'http://127.0.0.1:8080', networks = ['127.0.0.1/32'] }",
    ),
    (
        &[],
        "GET",
        "http://localhost:81",
        "127.0.0.1",
        "{ url = 'http://localhost:81', networks = ['127.0.0.0/8', '::1/128'] }",
    ),
    (
        &[],
        "GET",
        "http://api.LOCALHOST.",
        "::1",
        "{ url = 'http://api.localhost', networks = ['127.0.0.0/8', '::1/128'] }",
    ),
    (&[], "GET", "https://10.1.2.3/", "10.1.2.3", "{ url = 'https://10.1.2.3', networks = ['10.1.2.3/32'] }"),
    (
        &[],
        "GET",
        "http://169.254.169.254/",
        "169.254.169.254",
        "{ url = 'http://169.254.169.254', networks = ['169.254.169.254/32'] }",
    ),
    (&[], "GET", "http://[::1]:81/", "::1", "{ url = 'http://[::1]:81', networks = ['::1/128'] }"),
    (
        &[],
        "GET",
        "http://[::ffff:10.0.0.1]/",
        "10.0.0.1",
        "{ url = 'http://10.0.0.1', networks = ['10.0.0.1/32'] }",
    ),
    (
        &[],
        "GET",
        "http://[::ffff:7f00:1]/",
        "127.0.0.1",
        "{ url = 'http://127.0.0.1', networks = ['127.0.0.1/32'] }",
    ),
    (
        &[],
        "GET",
        "http://[64:ff9b::10.0.0.1]/",
        "64:ff9b::10.0.0.1",
        "{ url = 'http://[64:ff9b::a00:1]', networks = ['10.0.0.1/32'] }",
    ),
    (
        &[],
        "GET",
        "http://[fd00::5efe:10.0.0.1]/",
        "fd00::5efe:10.0.0.1",
        "{ url = 'http://[fd00::5efe:a00:1]', networks = ['fd00::5efe:a00:1/128', '10.0.0.1/32'] }",
    ),
    (
        &["{ url = 'http://wiki.example/read', networks = ['10.0.0.0/8'] }"],
        "PUT",
        "http://wiki.example/write",
        "10.1.1.1",
        "{ url = 'http://wiki.example/write', methods = ['PUT'], networks = ['10.0.0.0/8'] }",
    ),
    (
        &["{ url = 'http://127.0.0.1/read', networks = ['127.0.0.0/8'] }"],
        "GET",
        "http://127.0.0.1/write",
        "127.0.0.1",
        "{ url = 'http://127.0.0.1/write', methods = ['GET'], networks = ['127.0.0.0/8'] }",
    ),
];

#[test]
fn suggested_lines_grant_the_request_in_one_step() {
    for (items, method, url, address, expected) in ROWS {
        let target = RequestTarget::new(method, url).unwrap_or_else(|error| panic!("{url}: {error}"));
        let address = address.parse().unwrap();
        let before = grants(items);
        assert!(!goes(&before, &target, address), "{url} is granted already");
        let line = before.suggest_http_grant(&target);
        assert_eq!(line.replace('"', "'"), format!("http = [{expected}]"), "{url}");
        assert!(goes(&grants(&[items, &[item(&line)]].concat()), &target, address), "{url}: {line}");
    }
}

#[test]
fn suggested_networks_allow_the_address() {
    for (granted, url, address, expected) in [
        (
            "'https://wiki.example'",
            "https://wiki.example/x",
            "10.1.2.3",
            "{ url = 'https://wiki.example', networks = ['10.1.2.3/32'] }",
        ),
        (
            "{ url = 'http://*:81/api', methods = ['GET', 'PUT'], networks = ['192.168.0.0/16'] }",
            "http://localhost:81/api/x",
            "127.0.0.1",
            "{ url = 'http://localhost:81/api', methods = ['GET', 'PUT'], networks = ['192.168.0.0/16', '127.0.0.1/32'] }",
        ),
        (
            "'https://*'",
            "https://a.example/",
            "64:ff9b::a00:1",
            "{ url = 'https://a.example', networks = ['10.0.0.1/32'] }",
        ),
        (
            "{ url = 'https://*', networks = ['64:ff9b:1::/48'] }",
            "https://a.example/",
            "64:ff9b:1::a00:1",
            "{ url = 'https://a.example', networks = ['64:ff9b:1::/48', '10.0.0.1/32'] }",
        ),
        (
            "'https://*'",
            "https://a.example/",
            "fd00::7",
            "{ url = 'https://a.example', networks = ['fd00::7/128'] }",
        ),
    ] {
        let (target, address) = (RequestTarget::new("GET", url).unwrap(), address.parse().unwrap());
        let before = grants(&[granted]);
        assert!(before.http[0].covers(&target) && !goes(&before, &target, address), "{url}");
        let line = before.http[0].suggest_for_address(&target.origin(), address);
        assert_eq!(line.replace('"', "'"), format!("http = [{expected}]"), "{url}");
        assert!(goes(&grants(&[granted, item(&line)]), &target, address), "{url}: {line}");
    }
}

#[test]
fn long_suggestions_name_fewer_networks_but_are_never_wider() {
    let networks: Vec<String> = (0..64).map(|at| format!("'10.{at}.0.0/16'")).collect();
    let many = |more: &str| {
        format!("{{ url = 'https://a.example/read', {more}networks = [{}] }}", networks.join(", "))
    };
    let address: IpAddr = "192.168.0.1".parse().unwrap();
    let before = grants(&[&many("methods = ['GET', 'PUT'], ")]);
    let target = RequestTarget::new("GET", "https://a.example/read/x").unwrap();
    let line = before.http[0].suggest_for_address(&target.origin(), address);
    assert_eq!(
        line.replace('"', "'"),
        "http = [{ url = 'https://a.example/read', methods = ['GET', 'PUT'], networks = ['192.168.0.1/32'] }]"
    );
    assert!(goes(&grants(&[&many(""), item(&line)]), &target, address), "{line}");

    let other = RequestTarget::new("GET", "https://a.example/write").unwrap();
    let line = grants(&[&many("")]).suggest_http_grant(&other);
    assert_eq!(line.replace('"', "'"), "http = [{ url = 'https://a.example/write', methods = ['GET'] }]");

    // This holds however long the request and the grant are.
    let path = format!("/b/{}", "c".repeat(2_000));
    let long = RequestTarget::new("GET", &format!("https://a.example{path}")).unwrap();
    for line in [
        grants(&["'https://a.example/read'"]).suggest_http_grant(&long),
        grants(&[&format!("{{ url = 'https://a.example{path}', methods = ['GET'] }}")]).http[0]
            .suggest_for_address(&long.origin(), address),
    ] {
        let cured = &grants(&[item(&line)]).http[0];
        assert_eq!((&cured.path, cured.methods.as_ref().map(|methods| methods.len())), (&path, Some(1)));
    }
}

/// The hint about an item of `http`.
fn hint(item: &str) -> String {
    let problems = read(item).problems;
    // The component doesn't exist either.
    let hints = problems.iter().filter(|problem| !problem.message.contains("x.wasm"));
    hints.filter_map(|problem| problem.hint.clone()).next().unwrap_or_default()
}

/// The text between the first pair of these marks.
fn between(text: &str, mark: char) -> Option<&str> {
    let (_, rest) = text.split_once(mark)?;
    rest.split_once(mark).map(|(inside, _)| inside)
}

#[test]
fn hints_about_a_grant_lead_to_a_valid_one() {
    // The host or URL to write instead of the wrong one.
    for (wrong, right) in [
        ("example.com", "https://example.com"),
        ("http://0x7f.1", "127.0.0.1"),
        ("http://[::ffff:10.0.0.1]", "10.0.0.1"),
        ("http://::1", "[::1]"),
        ("https://.example.com", "*.example.com"),
        ("https://example.com/api/*", "/api"),
        ("https:/example.com", "https://"),
    ] {
        let hint = hint(&format!("'{wrong}'"));
        let suggested = between(&hint, '`').or_else(|| between(&hint, '"'));
        assert_eq!(suggested, Some(right), "{wrong}: {hint}");
    }
    // The whole item.
    for wrong in [
        "'http://10.0.0.1'",
        "'http://[::1]:81'",
        "'http://[2002:a00:1::]'",
        "'http://localhost:81'",
        "'https://169.254.169.254/x'",
    ] {
        let hint = hint(wrong);
        let suggested = between(&hint, '`').unwrap_or_else(|| panic!("{wrong}: {hint}"));
        assert!(!grants(&[suggested]).http[0].networks.is_empty(), "{wrong}: {hint}");
    }
    for (wrong, network) in [
        ("'https://10.0.0.0/8'", "10.0.0.0/8"),
        ("{ url = 'http://[fd00::]/8' }", "fd00::/8"),
        ("'http://192.168.1.0/24/'", "192.168.1.0/24"),
    ] {
        let hint = hint(wrong);
        let suggested = between(&hint.replace("`url`", "url"), '`').map(str::to_owned).unwrap_or_default();
        assert_eq!(suggested, format!("networks = [\"{network}\"]"), "{wrong}: {hint}");
        assert!(
            grants(&[&format!("{{ url = 'https://wiki.example', {suggested} }}")]).http[0].networks.len()
                == 1
        );
    }
}
