//! What is written reads as the same configuration, and shows no secret.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::*;
use crate::config::from_text;

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config").canonicalize().unwrap()
}

fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("HOME", "/srv/somebody"),
        ("LANG", "en_GB.UTF-8"),
        ("GATEWAY_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("OTHER_TOKEN", "fedcba9876543210fedcba9876543210"),
        ("TRICKY", "a \"${LANG}\" $${B} 'c'"),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

fn read(file: &Path, text: &str) -> Loaded {
    from_text(file, text.to_owned(), &environment())
}

/// The file as it is written, and then read from another place.
#[track_caller]
fn written(text: &str) -> (Loaded, String, Loaded) {
    let before = read(&folder().join("gateway.toml"), text);
    let written = resolved(&before, &environment()).unwrap_or_else(|| panic!("{:?}", before.problems));
    let again = read(Path::new("/elsewhere/gateway.toml"), &written);
    assert!(again.config.is_some(), "{:?}\n{written}", again.problems);
    (before, written, again)
}

#[test]
fn what_is_written_comes_to_the_same_wherever_it_lies() {
    let good = std::fs::read_to_string(folder().join("good.toml")).unwrap();
    let short =
        "version = 1\n[plugins.b]\nsource = 'files/time.wasm'\n[plugins.a]\nsource = 'files/time.wasm'\n";
    for text in [good.as_str(), short] {
        let (before, written, again) = written(text);
        let (a, b) = (before.config.unwrap(), again.config.as_ref().unwrap());
        assert_eq!(format!("{:?}", a.http), format!("{:?}", b.http));
        assert_eq!((&a.cache, &a.state, &a.ca_file), (&b.cache, &b.state, &b.ca_file));
        assert_eq!((a.admin, a.concurrency, a.page_size), (b.admin, b.concurrency, b.page_size));
        assert_eq!((a.watch, a.wider_grants, a.require_all), (b.watch, b.wider_grants, b.require_all));
        assert_eq!((a.stop_grace, &a.sealing_key), (b.stop_grace, &b.sealing_key));
        assert_eq!(a.plugins.len(), b.plugins.len());
        for (a, b) in a.plugins.iter().zip(&b.plugins) {
            assert!(a.says_the_same_as(b), "{a:?}\n{b:?}\n{written}");
        }
        assert_eq!(resolved(&again, &environment()).unwrap(), written, "it has no end");
        assert!(written.contains("describe_timeout = ") && written.contains("max_sessions = "), "{written}");
    }
}

#[test]
fn secrets_stay_names_and_settings_keep_their_variables() {
    let (_, written, _) = written(
        "version = 1\n[http.auth]\ntokens = [{ name = '${LANG}', token = { env = 'GATEWAY_TOKEN' } }]\n\
         [plugins.a]\nsource = 'files/time.wasm'\n\
         [plugins.a.config]\nkey = { file = 'files/secret.txt' }\nurl = 'https://x:${LANG}@example.com'\n\
         password = 'plain'\n'a b' = [1, { c = 0x10 }]\n",
    );
    for part in [
        "name = \"${LANG}\"",
        "{ env = \"GATEWAY_TOKEN\" }",
        &format!("key = {{ file = {:?} }}", folder().join("files/secret.txt")),
        "https://x:${LANG}@example.com",
        "\"a b\" = [1, { c = 0x10 }]",
        "password = \"*****\" # a secret in the file itself",
    ] {
        assert!(written.contains(part), "`{part}` is missing:\n{written}");
    }
    assert!(!written.contains("plain") && !written.contains("0123456789abcdef"), "{written}");
}

#[test]
fn no_secret_of_a_header_or_an_address_is_written() {
    let text = "version = 1\n[gateway]\ncache = '${HOME}/c'\n[http]\nallowed_hosts = ['${LANG:-a}.example']\n\
         [plugins.a]\nsource = 'files/time.wasm'\n[plugins.a.allow]\n\
         http = ['https://ok.example/bot${OTHER_TOKEN}/get', 'https://b.example']\n\
         [[plugins.a.allow.credentials]]\norigin = 'https://b.example'\n\
         headers.x-a = { env = 'LANG', prefix = '${OTHER_TOKEN}' }\n\
         headers.x-b = { env = 'LANG', prefix = 'hunter2' }\n\
         headers.x-c = { env = 'LANG', prefix = 'Bearer ' }\n";
    let before = read(&folder().join("gateway.toml"), text);
    let written = resolved(&before, &environment()).unwrap_or_else(|| panic!("{:?}", before.problems));
    for part in [
        "https://ok.example/bot${OTHER_TOKEN}/get",
        "prefix = \"${OTHER_TOKEN}\"",
        "prefix = \"*******\"",
        "# a secret in the file itself",
        "prefix = \"Bearer \"",
        "cache = \"${HOME}/c\"",
        "${LANG:-a}.example",
    ] {
        assert!(written.contains(part), "`{part}` is missing:\n{written}");
    }
    assert!(!written.contains("fedcba98") && !written.contains("hunter2"), "{written}");
    // Nor is it where a grant is named: when it is new, and among all that a plugin is granted.
    let config = before.config.unwrap();
    let granted = config.plugins[0].allow.all().join("\n");
    assert!(
        granted.contains("http https://ok.example/bot***/get") && !granted.contains("fedcba98"),
        "{granted}"
    );
    assert!(config.secrets.iter().any(|secret| secret.expose().starts_with("fedcba98")));
}

#[test]
fn what_a_variable_holds_is_no_variable_again() {
    let (before, written, again) = written(
        "version = 1\n[plugins.a]\nsource = 'files/${TRICKY}.wasm'\n[plugins.b]\nsource = 'files/$${LANG}.wasm'\n",
    );
    let (before, again) = (before.config.unwrap(), again.config.unwrap());
    assert_eq!(before.plugins[0].source, again.plugins[0].source, "{written}");
    assert!(again.plugins[1].source.ends_with("files/${LANG}.wasm"), "{written}");
}

#[test]
fn plugins_take_over_what_holds_for_all() {
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
fn only_what_is_hidden_is_called_a_secret() {
    let (_, written, _) = written(
        "version = 1\n[plugins.a]\nsource = 'files/time.wasm'\n[plugins.a.tools.rename]\ntoken = 'get_token'\n\
         [plugins.a.config]\nhosts = '*'\nlist = ['**']\ntokenizer = 'cl100k'\npin_token = 1234\n\
         nested = { a = 1, token = 'plain' }\n",
    );
    let remark = " # a secret in the file itself: it isn't shown\n";
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
