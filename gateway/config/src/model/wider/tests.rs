//! Tests of every way in which grants can become wider.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::*;
use crate::parse_config;

/// A directory with `a/sub` and `b`, and `link`, which leads to `a`.
fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    for dir in ["a/sub", "b"] {
        fs::create_dir_all(place.path().join(dir)).unwrap();
    }
    symlink("a", place.path().join("link")).unwrap();
    place
}

#[track_caller]
fn grants(place: &Path, allow: &str) -> Grants {
    let environment = ["HOME", "LANG", "TZ"].map(|name| (name.to_owned(), "/h".to_owned()));
    let text = format!(
        "version = 1\ngateway.cache = 'cache'\n[plugins.p]\nsource = 'p.wasm'\n[plugins.p.allow]\n{allow}\n"
    );
    let loaded = parse_config(&place.join("config/gateway.toml"), text, &BTreeMap::from(environment));
    let config = loaded.config.unwrap_or_else(|| panic!("{allow}: {:?}", loaded.problems));
    config.plugins[0].allow.clone()
}

/// The access that the second grants add to the first, with the directory as `@`.
#[track_caller]
fn wider(place: &Path, before: &str, now: &str) -> Vec<String> {
    let wider = grants(place, now).widened_grants(&grants(place, before));
    let directory = place.canonicalize().unwrap();
    wider.iter().map(|phrase| phrase.replace(&*directory.to_string_lossy(), "@")).collect()
}

#[test]
fn each_kind_of_grant_has_a_phrase() {
    let place = place();
    let rows = [
        ("", "env = ['LANG']", "env LANG"),
        ("env = ['TZ']", "env = ['LANG', 'TZ']", "env LANG"),
        ("", "client = ['sampling']", "client sampling"),
        ("", "http = ['https://example.com']", "http https://example.com"),
        ("", "instructions = true", "instructions"),
        ("", "state = true", "state"),
        ("", "state = 'notes'", "state notes"),
        ("state = 'notes'", "state = 'other'", "state other"),
        ("state = 'notes'", "state = true", "state"),
        ("state = true", "state = 'notes'", "state notes"),
    ];
    for (before, now, phrase) in rows {
        assert_eq!(wider(place.path(), before, now), [phrase], "{before} -> {now}");
        assert_eq!(wider(place.path(), now, now), [""; 0], "{now}");
        assert_eq!(wider(place.path(), now, ""), [""; 0], "{now}");
    }
    assert_eq!(grants(place.path(), "state = true\nenv = ['TZ']").describe_all(), ["env TZ", "state"]);
}

#[test]
fn compares_http_grants_by_what_they_cover() {
    let place = place();
    let http = |grants: &str| format!("http = [{grants}]");
    let rows: [(&str, &str, &[&str]); 13] = [
        ("'https://*.a.org'", "'https://x.a.org', 'https://*.y.a.org'", &[]),
        ("'https://x.a.org'", "'https://*.a.org'", &["http https://*.a.org"]),
        ("'https://a.org'", "'https://A.org:443/'", &[]),
        ("'https://a.org'", "'https://a.org:444'", &["http https://a.org:444"]),
        ("'https://a.org'", "'https://a.org/api'", &[]),
        ("'https://a.org/api'", "'https://a.org/api/v1'", &[]),
        ("'https://a.org/api'", "'https://a.org/apiv1'", &["http https://a.org/apiv1"]),
        ("'https://a.org'", "{ url = 'https://a.org', methods = ['GET'] }", &[]),
        (
            "{ url = 'https://a.org', methods = ['GET', 'PUT'] }",
            "{ url = 'https://a.org', methods = ['put'] }",
            &[],
        ),
        (
            "{ url = 'https://a.org', methods = ['GET'] }",
            "{ url = 'https://a.org', methods = ['GET', 'PUT'] }",
            &["http https://a.org by GET, PUT"],
        ),
        ("{ url = 'https://a.org', methods = ['GET'] }", "'https://a.org'", &["http https://a.org"]),
        (
            "'https://a.org'",
            "{ url = 'https://a.org', networks = ['10.1.0.0/16'] }",
            &["http https://a.org in 10.1.0.0/16"],
        ),
        (
            "{ url = 'https://a.org', networks = ['10.0.0.0/8'] }",
            "{ url = 'https://a.org', networks = ['10.1.0.0/16'] }",
            &[],
        ),
    ];
    for (before, now, phrases) in rows {
        assert_eq!(wider(place.path(), &http(before), &http(now)), phrases, "{before} -> {now}");
    }
}

#[test]
fn compares_credentials_by_source_and_origin() {
    let place = place();
    let added = |origin: &str, headers: &str| {
        format!(
            "http = ['https://*.org']\ncredentials = [{{ origin = 'https://{origin}', headers = {{ {headers} }} }}]"
        )
    };
    let before = added("a.org", "authorization = { env = 'HOME', prefix = 'Bearer ' }");
    for (now, phrases) in [
        (added("A.org:443", "Authorization = { env = 'HOME' }"), vec![]),
        ("http = ['https://*.org']".to_owned(), vec![]),
        (
            added("b.org", "authorization = { env = 'HOME' }"),
            vec!["credentials for https://b.org: authorization from env HOME"],
        ),
        (
            added("a.org", "authorization = { env = 'LANG' }"),
            vec!["credentials for https://a.org: authorization from env LANG"],
        ),
        (
            added("a.org", "x-key = { env = 'HOME' }"),
            vec!["credentials for https://a.org: x-key from env HOME"],
        ),
        (
            added("a.org", "authorization = { env = 'HOME', prefix = '${TZ}' }"),
            vec!["credentials for https://a.org: authorization from env HOME, env TZ"],
        ),
    ] {
        assert_eq!(wider(place.path(), &before, &now), phrases, "{now}");
    }
}

#[test]
fn compares_resolved_directories() {
    let place = place();
    let dirs = |list: &[(&str, &str, &str)]| {
        let one = |(host, guest, mode): &(&str, &str, &str)| {
            format!("{{ host = '../{host}', guest = '{guest}', mode = '{mode}' }}")
        };
        format!("dirs = [{}]", list.iter().map(one).collect::<Vec<_>>().join(", "))
    };
    fs::create_dir(place.path().join("config")).unwrap();
    let rows: [(&[_], &[_], &[&str]); 11] = [
        (&[], &[("a", "/n", "ro")], &["dirs /n = @/a (ro)"]),
        (&[("a", "/n", "ro")], &[("a", "/n", "rw")], &["dirs /n = @/a: rw instead of ro"]),
        (&[("a", "/n", "rw")], &[("a", "/n", "ro")], &[]),
        (&[("a", "/n", "ro")], &[("b", "/n", "ro")], &["dirs /n = @/b (ro) instead of @/a (ro)"]),
        (&[("a", "/n", "ro")], &[("a", "/m", "ro")], &[]),
        (&[("a", "/n", "ro")], &[("link", "/n", "ro")], &[]),
        (&[("a", "/n", "ro")], &[("a/sub", "/n", "ro")], &[]),
        (&[("a", "/n", "ro")], &[("a/sub", "/n", "rw")], &["dirs /n = @/a/sub (rw) instead of @/a (ro)"]),
        (&[("a/sub", "/n", "ro")], &[("a", "/n", "ro")], &["dirs /n = @/a (ro) instead of @/a/sub (ro)"]),
        (&[("a", "/n", "ro"), ("b", "/m", "rw")], &[("b", "/n", "rw"), ("a", "/m", "ro")], &[]),
        (&[("a", "/n", "ro")], &[("a", "/n", "ro"), ("b", "/m", "ro")], &["dirs /m = @/b (ro)"]),
    ];
    for (before, now, phrases) in rows {
        assert_eq!(wider(place.path(), &dirs(before), &dirs(now)), phrases, "{before:?} -> {now:?}");
    }
    // A changed symlink changes the grant of the same file.
    let through = dirs(&[("link", "/n", "ro")]);
    let before = grants(place.path(), &through);
    fs::remove_file(place.path().join("link")).unwrap();
    symlink("b", place.path().join("link")).unwrap();
    assert_eq!(grants(place.path(), &through).widened_grants(&before).len(), 1);
}

#[test]
fn values_of_variables_are_not_part_of_the_grant() {
    let before = Grants { env: vec![("A".to_owned(), "1".to_owned())], ..Grants::default() };
    let now = Grants { env: vec![("A".to_owned(), "2".to_owned())], ..Grants::default() };
    assert_eq!(now.widened_grants(&before), [""; 0]);
    let hidden =
        Grants { env: vec![("a\u{202e}b".to_owned(), "3".to_owned())], client: BTreeSet::new(), ..now };
    assert_eq!(hidden.widened_grants(&before), ["env a\\u{202e}b"]);
}
