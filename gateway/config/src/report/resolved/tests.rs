//! Tests that the resolved configuration loads as the same configuration and shows no secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::parse_config;

fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config").canonicalize().unwrap()
}

fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("HOME", "/srv/user"),
        ("LANG", "en_GB.UTF-8"),
        ("GATEWAY_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("OTHER_TOKEN", "fedcba9876543210fedcba9876543210"),
        ("TRICKY", "a \"${LANG}\" $${B} 'c'"),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn read(file: &Path, text: &str) -> LoadedConfig {
    parse_config(file, text.to_owned(), &environment())
}

/// Resolves a file and reads the result from another directory.
#[track_caller]
fn written(text: &str) -> (LoadedConfig, String, LoadedConfig) {
    let before = read(&directory().join("gateway.toml"), text);
    let written = resolved_config(&before, &environment()).unwrap_or_else(|| panic!("{:?}", before.problems));
    let again = read(Path::new("/elsewhere/gateway.toml"), &written);
    assert!(again.config.is_some(), "{:?}\n{written}", again.problems);
    (before, written, again)
}

#[test]
fn reads_back_as_the_same_configuration() {
    let good = std::fs::read_to_string(directory().join("good.toml")).unwrap();
    let short =
        "version = 1\n[plugins.b]\nsource = 'files/time.wasm'\n[plugins.a]\nsource = 'files/time.wasm'\n";
    for text in [good.as_str(), short] {
        let (before, written, again) = written(text);
        let (a, b) = (before.config.unwrap(), again.config.as_ref().unwrap());
        assert_eq!(format!("{:?}", a.http), format!("{:?}", b.http));
        assert_eq!((&a.cache, &a.state, &a.ca_file), (&b.cache, &b.state, &b.ca_file));
        assert_eq!(a.unix_socket, b.unix_socket);
        assert_eq!((&a.admin, a.concurrency, a.page_size), (&b.admin, b.concurrency, b.page_size));
        assert_eq!((a.watch, a.wider_grants, a.require_all), (b.watch, b.wider_grants, b.require_all));
        assert_eq!(a.audit, b.audit);
        assert_eq!((a.stop_grace, &a.sealing_key), (b.stop_grace, &b.sealing_key));
        assert_eq!(a.startup_wait, b.startup_wait);
        assert_eq!(a.plugins.len(), b.plugins.len());
        for (a, b) in a.plugins.iter().zip(&b.plugins) {
            assert!(a.is_equivalent_to(b), "{a:?}\n{b:?}\n{written}");
        }
        assert_eq!(
            resolved_config(&again, &environment()).unwrap(),
            written,
            "resolving again changes nothing"
        );
        assert!(written.contains("describe_timeout = ") && written.contains("max_sessions = "), "{written}");
    }
}

#[test]
fn keeps_references_and_variables() {
    let (_, written, _) = written(
        "version = 1\n[http.auth]\ntokens = [{ name = '${LANG}', token = { env = 'GATEWAY_TOKEN' } }]\n\
         [plugins.a]\nsource = 'files/time.wasm'\n\
         [plugins.a.config]\nkey = { file = 'files/secret.txt' }\nurl = 'https://x:${LANG}@example.com'\n\
         password = 'clear'\n'a b' = [1, { c = 0x10 }]\n",
    );
    for part in [
        "name = \"${LANG}\"",
        "{ env = \"GATEWAY_TOKEN\" }",
        &format!("key = {{ file = {:?} }}", directory().join("files/secret.txt")),
        "https://x:${LANG}@example.com",
        "\"a b\" = [1, { c = 0x10 }]",
        "password = \"*****\" # redacted",
    ] {
        assert!(written.contains(part), "`{part}` is missing:\n{written}");
    }
    assert!(!written.contains("clear") && !written.contains("0123456789abcdef"), "{written}");
}

#[test]
fn redacts_secrets_of_headers_and_urls() {
    let text = "version = 1\n[gateway]\ncache = '${HOME}/c'\n[http]\nallowed_hosts = ['${LANG:-a}.example']\n\
         [plugins.a]\nsource = 'files/time.wasm'\n[plugins.a.allow]\n\
         http = ['https://ok.example/bot${OTHER_TOKEN}/get', 'https://b.example']\n\
         [[plugins.a.allow.credentials]]\norigin = 'https://b.example'\n\
         headers.x-a = { env = 'LANG', prefix = '${OTHER_TOKEN}' }\n\
         headers.x-b = { env = 'LANG', prefix = 'hunter2' }\n\
         headers.x-c = { env = 'LANG', prefix = 'Bearer ' }\n";
    let before = read(&directory().join("gateway.toml"), text);
    let written = resolved_config(&before, &environment()).unwrap_or_else(|| panic!("{:?}", before.problems));
    for part in [
        "https://ok.example/bot${OTHER_TOKEN}/get",
        "prefix = \"${OTHER_TOKEN}\"",
        "prefix = \"*******\"",
        "# redacted: a secret in the file itself",
        "prefix = \"Bearer \"",
        "cache = \"${HOME}/c\"",
        "${LANG:-a}.example",
    ] {
        assert!(written.contains(part), "`{part}` is missing:\n{written}");
    }
    assert!(!written.contains("fedcba98") && !written.contains("hunter2"), "{written}");
    // Grants don't show it either.
    let config = before.config.unwrap();
    let granted = config.plugins[0].allow.describe_all().join("\n");
    assert!(
        granted.contains("http https://ok.example/bot***/get") && !granted.contains("fedcba98"),
        "{granted}"
    );
    assert!(config.secrets.iter().any(|secret| secret.expose().starts_with("fedcba98")));
}

#[test]
fn values_of_variables_are_not_interpolated_again() {
    let (before, written, again) = written(
        "version = 1\n[plugins.a]\nsource = 'files/${TRICKY}.wasm'\n[plugins.b]\nsource = 'files/$${LANG}.wasm'\n",
    );
    let (before, again) = (before.config.unwrap(), again.config.unwrap());
    assert_eq!(before.plugins[0].source, again.plugins[0].source, "{written}");
    assert!(again.plugins[1].source.ends_with("files/${LANG}.wasm"), "{written}");
}

#[test]
fn plugins_inherit_defaults() {
    let (_, written, _) = written(
        "version = 1\n[defaults]\nportable_schemas = true\n[defaults.limits]\ntimeout = '7s'\n\
         [plugins.a]\nsource = 'files/time.wasm'\n[plugins.a.limits]\nqueue = 3\n",
    );
    let (_, plugin) = written.split_once("[plugins.a]").unwrap();
    for line in
        ["prefix = \"a\"", "portable_schemas = true", "timeout = \"7s\"", "queue = 3", "memory = \"64MiB\""]
    {
        assert!(plugin.lines().any(|its| its == line), "`{line}` is missing:\n{plugin}");
    }
}

#[test]
fn marks_only_redacted_values() {
    let (_, written, _) = written(
        "version = 1\n[plugins.a]\nsource = 'files/time.wasm'\n[plugins.a.tools.rename]\ntoken = 'get_token'\n\
         [plugins.a.config]\nhosts = '*'\nlist = ['**']\ntokenizer = 'cl100k'\npin_token = 1234\n\
         nested = { a = 1, token = 'plain' }\n",
    );
    let remark = " # redacted: a secret in the file itself\n";
    for part in [
        "token = \"get_token\"\n",
        "hosts = \"*\"\n",
        "list = [\"**\"]\n",
        "tokenizer = \"cl100k\"\n",
        &format!("pin_token = \"****\"{remark}"),
        &format!("nested = {{ a = 1, token = \"*****\" }}{remark}"),
    ] {
        assert!(written.contains(part), "`{part}` is missing:\n{written}");
    }
}
