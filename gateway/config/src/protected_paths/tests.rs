//! Tests of forbidden grants on a real disk.

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::Path;

use tempfile::TempDir;

use super::{check, check_component};
use crate::{LoadedConfig, parse_config};

/// A directory with a configuration, a component, a secret, a cache and some notes.
fn place() -> TempDir {
    let place = TempDir::new().unwrap();
    for dir in ["plugins", "secrets", "cache/compiled", "state", "notes/old", "other"] {
        fs::create_dir_all(place.path().join(dir)).unwrap();
    }
    for file in ["plugins/time.wasm", "secrets/token", "gateway.toml"] {
        fs::write(place.path().join(file), "a-text-of-some-length\n").unwrap();
    }
    place
}

fn load(place: &Path, grants: &str) -> LoadedConfig {
    let text = format!(
        r#"version = 1
           gateway = {{ cache = "cache", state = "state" }}
           http.auth.tokens = [{{ name = "ci", token = {{ file = "secrets/token" }} }}]
           [plugins.time]
           source = "plugins/time.wasm"
           allow.dirs = [{grants}]"#
    );
    parse_config(&place.join("gateway.toml"), text, &BTreeMap::new())
}

/// The errors of a configuration with these grants.
#[track_caller]
fn errors(place: &Path, grants: &str) -> Vec<String> {
    let loaded = load(place, grants);
    loaded.problems.into_iter().filter(|problem| problem.is_error()).map(|problem| problem.message).collect()
}

fn grant(host: &str, mode: &str) -> String {
    format!(r#"{{ host = "{host}", guest = "/granted", mode = "{mode}" }}"#)
}

#[test]
fn grants_directories_next_to_the_configuration() {
    let place = place();
    for mode in ["ro", "rw"] {
        assert_eq!(errors(place.path(), &grant("./notes", mode)), [""; 0]);
        assert_eq!(errors(place.path(), &grant("notes/../other", mode)), [""; 0]);
    }
}

#[test]
fn rejects_grants_to_change_the_gateway() {
    let place = place();
    let reached = [
        (".", "the configuration"),
        ("/", "the configuration"),
        ("plugins", "the component of the plugin `time`"),
        ("cache", "the cache of compiled code"),
        ("cache/compiled", "the cache of compiled code"),
        ("state", "the plugins' state"),
        ("secrets", "the secret file `token`"),
        ("notes/../secrets", "the secret file `token`"),
    ];
    for (dir, what) in reached {
        let errors = errors(place.path(), &grant(dir, "rw"));
        assert!(errors.len() == 1 && errors[0].contains(what), "{dir}: {errors:?}");
    }
}

#[test]
fn rejects_grants_to_read_configuration_cache_state_or_secrets() {
    let place = place();
    for dir in [".", "/", "cache", "cache/compiled", "state", "secrets"] {
        assert_eq!(errors(place.path(), &grant(dir, "ro")).len(), 1, "{dir}");
    }
    assert_eq!(errors(place.path(), &grant("plugins", "ro")), [""; 0]);
}

#[test]
fn follows_symlinks() {
    let place = place();
    let at = |path: &str| place.path().join(path);
    symlink(at("secrets"), at("notes/innocent")).unwrap();
    assert_eq!(errors(place.path(), &grant("notes/innocent", "ro")).len(), 1);

    // The component is elsewhere, but changing the symlink replaces it.
    fs::rename(at("plugins/time.wasm"), at("other/time.wasm")).unwrap();
    symlink("../other/time.wasm", at("plugins/time.wasm")).unwrap();
    for dir in ["plugins", "other"] {
        assert_eq!(errors(place.path(), &grant(dir, "rw")).len(), 1, "{dir}");
    }
    symlink("circle", at("circle")).unwrap();
    assert_eq!(errors(place.path(), &grant("circle", "rw")).len(), 1);
}

#[test]
fn protects_paths_that_do_not_exist_yet() {
    let place = place();
    fs::remove_dir_all(place.path().join("cache")).unwrap();
    assert_eq!(errors(place.path(), &grant("./notes", "rw")), [""; 0]);
    let text = r#"version = 1
        gateway.cache = "notes/cache/of/code"
        plugins.time = { source = "plugins/time.wasm", allow.dirs = [{ host = "notes", guest = "/n", mode = "rw" }] }"#;
    let loaded = parse_config(&place.path().join("gateway.toml"), text.to_owned(), &BTreeMap::new());
    assert!(loaded.config.is_none(), "{:?}", loaded.problems);
}

#[test]
fn rejects_a_grant_inside_a_writable_one() {
    let place = place();
    let two = |outer: &str, inner: &str| {
        format!(
            r#"{{ host = "notes", guest = "/a", mode = "{outer}" }}, {{ host = "{inner}", guest = "/b", mode = "ro" }}"#
        )
    };
    assert_eq!(errors(place.path(), &two("ro", "notes/old")), [""; 0]);
    assert_eq!(errors(place.path(), &two("rw", "notes")), [""; 0]);
    assert_eq!(errors(place.path(), &two("rw", "other")), [""; 0]);
    assert_eq!(errors(place.path(), &two("rw", "notes/old")).len(), 1);
    symlink("../other", place.path().join("notes/link")).unwrap();
    assert_eq!(errors(place.path(), &two("rw", "notes/link")).len(), 1);
}

#[test]
fn finds_changed_symlinks_when_checked_again() {
    let place = place();
    symlink("other", place.path().join("current")).unwrap();
    let config = load(place.path(), &grant("current", "ro")).config.unwrap();
    assert_eq!(check(&config), []);
    fs::remove_file(place.path().join("current")).unwrap();
    symlink("secrets", place.path().join("current")).unwrap();
    assert_eq!(check(&config).len(), 1);
}

#[test]
#[cfg(target_os = "linux")]
fn rejects_grants_of_proc() {
    let place = place();
    symlink("/proc/self", place.path().join("itself")).unwrap();
    for host in ["/proc", "/proc/self", "/proc/self/task", "itself", "/"] {
        for mode in ["ro", "rw"] {
            let errors = errors(place.path(), &grant(host, mode));
            assert!(
                errors.len() == 1 && errors[0].contains("`/proc`, which contains"),
                "{host} {mode}: {errors:?}"
            );
        }
    }
}

#[test]
fn protects_the_place_of_a_missing_component() {
    let place = place();
    fs::remove_file(place.path().join("plugins/time.wasm")).unwrap();
    let is_guarded = |dir: &str| {
        let errors = errors(place.path(), &grant(dir, "rw"));
        errors.iter().any(|errors| errors.contains("the component of the plugin `time`"))
    };
    assert!(is_guarded("plugins") && !is_guarded("notes"));
    // Its directory is a symlink: a plugin that can change the target can create the component.
    fs::remove_dir(place.path().join("plugins")).unwrap();
    symlink("other", place.path().join("plugins")).unwrap();
    assert!(is_guarded("other") && is_guarded("plugins") && !is_guarded("notes"));
    // A dangling symlink.
    symlink("../notes/old/time.wasm", place.path().join("other/time.wasm")).unwrap();
    assert!(is_guarded("notes") && is_guarded("notes/old"));
}

#[test]
fn finds_a_component_whose_symlink_now_leads_into_a_grant() {
    let place = place();
    fs::create_dir(place.path().join("v1")).unwrap();
    fs::rename(place.path().join("plugins/time.wasm"), place.path().join("v1/time.wasm")).unwrap();
    symlink("../v1/time.wasm", place.path().join("plugins/time.wasm")).unwrap();
    for (mode, found) in [("rw", true), ("ro", false)] {
        let config = load(place.path(), &grant("notes", mode)).config.unwrap();
        assert_eq!(check_component(&config.plugins[0], &config.plugins), None);
        fs::remove_file(place.path().join("plugins/time.wasm")).unwrap();
        symlink("../notes/time.wasm", place.path().join("plugins/time.wasm")).unwrap();
        let problem = check_component(&config.plugins[0], &config.plugins);
        assert_eq!(
            problem.as_ref().is_some_and(|it| it.message.contains("notes/time.wasm")),
            found,
            "{problem:?}"
        );
        fs::remove_file(place.path().join("plugins/time.wasm")).unwrap();
        symlink("../v1/time.wasm", place.path().join("plugins/time.wasm")).unwrap();
    }
}

#[test]
fn finds_hard_links_to_protected_files() {
    let place = place();
    let at = |path: &str| place.path().join(path);
    for (file, modes) in [("secrets/token", "ro rw"), ("gateway.toml", "ro rw"), ("plugins/time.wasm", "rw")]
    {
        // A hard link in a directory that isn't granted is harmless.
        fs::hard_link(at(file), at("elsewhere")).unwrap();
        for mode in ["ro", "rw"] {
            assert_eq!(errors(place.path(), &grant("notes", mode)), [""; 0], "{file} {mode}");
        }
        fs::hard_link(at(file), at("notes/old/innocent")).unwrap();
        for mode in ["ro", "rw"] {
            let errors = errors(place.path(), &grant("notes", mode));
            assert_eq!(errors.len(), usize::from(modes.contains(mode)), "{file} {mode}: {errors:?}");
            assert!(
                errors
                    .iter()
                    .all(|errors| errors.contains("the hard link") && errors.contains("notes/old/innocent`")),
                "{errors:?}"
            );
        }
        fs::remove_file(at("elsewhere")).unwrap();
        fs::remove_file(at("notes/old/innocent")).unwrap();
    }
}

#[test]
fn recognises_a_directory_under_another_path() {
    // Tests may not mount anything, but `/proc` shows the same directories under other paths.
    let place = place();
    let secrets = fs::File::open(place.path().join("secrets")).unwrap();
    let other = format!("/proc/self/fd/{}/.", std::os::fd::AsRawFd::as_raw_fd(&secrets));
    let (a, b) = (place.path().join("secrets/token"), place.path().join("notes"));
    let [token, notes, twin] = [&a, &b, Path::new(&other)].map(super::PathIdentities::of);
    assert!(token.overlap(&twin) && twin.overlap(&token));
    assert!(!notes.overlap(&twin) && !notes.overlap(&token) && notes.overlap(&notes));
}

#[test]
fn the_search_for_hard_links_is_bounded() {
    let place = place();
    fs::hard_link(place.path().join("secrets/token"), place.path().join("elsewhere")).unwrap();
    let wanted = [super::hard_links::linked_file(&place.path().join("secrets/token")).unwrap()];
    for entry in 0..20 {
        fs::write(place.path().join(format!("notes/{entry}")), "").unwrap();
    }
    let search = |most| super::hard_links::find_linked(&place.path().join("notes"), &wanted, most);
    assert_eq!(
        (search(30), search(10)),
        (super::SearchResult::Nothing, super::hard_links::SearchResult::Incomplete)
    );
}

#[test]
fn warns_if_a_directory_is_too_large_to_search() {
    let place = place();
    for entry in 0..20 {
        fs::write(place.path().join(format!("state/{entry}")), "").unwrap();
    }
    let config = load(place.path(), &grant("notes", "ro")).config.unwrap();
    let warned = super::check_within(&config, 10);
    let messages: Vec<_> = warned.iter().map(|problem| (problem.is_error(), &*problem.message)).collect();
    assert_eq!(messages, [(false, "can't check whether the plugin `time` could reach the plugins' state")]);
    assert_eq!(super::check_within(&config, 30), []);
    // So does one that can't be read. One that doesn't exist contains nothing.
    let is_incomplete =
        |path: &str| super::hard_links::linked_files_in(&place.path().join(path), 30).is_incomplete;
    assert!(is_incomplete("gateway.toml") && !is_incomplete("absent") && !is_incomplete("state"));
}

#[test]
#[cfg(target_os = "linux")]
fn system_directories_are_writable_only_on_purpose() {
    let place = place();
    let intended = |host: &str| grant(host, "rw").replace(" }", ", system = true }");
    symlink("/usr/lib", place.path().join("innocent")).unwrap();
    for host in
        ["/etc", "/usr", "/usr/lib", "/usr/local/share", "/bin", "/dev", "/sys", "/etc/ssl", "innocent"]
    {
        let refused = errors(place.path(), &grant(host, "rw"));
        assert!(refused.len() == 1 && refused[0].contains("system directory"), "{host}: {refused:?}");
        assert_eq!(errors(place.path(), &grant(host, "ro")), [""; 0], "{host}");
        assert_eq!(errors(place.path(), &intended(host)), [""; 0], "{host}");
    }
    // These don't exist everywhere. The directories around them aren't writable either.
    for system in ["/root", "/var/spool", "/run/systemd", "/var/lib/dpkg", "/var/lib/rpm", "/var/lib/systemd"]
    {
        for host in
            Path::new(system).ancestors().filter(|host| Path::new(system).exists() && *host != Path::new("/"))
        {
            // The directory of the tests' own program is refused for that reason, even on purpose.
            let contains_program = std::env::current_exe().unwrap().starts_with(host);
            let reason = if contains_program { "own program" } else { "system directory" };
            let host = host.to_str().unwrap();
            let refused = errors(place.path(), &grant(host, "rw"));
            assert!(refused.len() == 1 && refused[0].contains(reason), "{host}: {refused:?}");
        }
    }
    // Nothing makes the gateway's own files writable.
    for host in [".", "cache", "secrets"] {
        assert_eq!(errors(place.path(), &intended(host)).len(), 1, "{host}");
    }
}

#[test]
fn certificates_named_by_variables_are_writable_only_on_purpose() {
    let place = place();
    let text = format!(
        "version = 1\ngateway.cache = \"cache\"\n[plugins.time]\nsource = \"plugins/time.wasm\"\nallow.dirs = [{}]",
        grant("notes", "rw")
    );
    let errors = |variable: &str, value: &str| {
        let value = value.replace('@', place.path().to_str().unwrap());
        let environment = BTreeMap::from([(variable.to_owned(), value)]);
        let loaded = parse_config(&place.path().join("gateway.toml"), text.clone(), &environment);
        loaded.problems.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    fs::write(place.path().join("notes/old/ca.pem"), "").unwrap();
    for (variable, value) in [
        ("SSL_CERT_FILE", "@/notes/old/ca.pem"),
        ("SSL_CERT_DIR", "/nowhere:@/notes/old"),
        ("SSL_CERT_DIR", "@/notes"),
    ] {
        let refused = errors(variable, value);
        assert!(refused.len() == 1 && refused[0].contains("certificates"), "{variable} {value}: {refused:?}");
    }
    for (variable, value) in
        [("SSL_CERT_FILE", "@/other/ca.pem"), ("SSL_CERT_DIR", ""), ("SSL_CERT_DIR", "@/other")]
    {
        assert_eq!(errors(variable, value), [""; 0], "{variable} {value}");
    }
}
