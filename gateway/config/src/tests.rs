//! Tests of loading configuration files.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

use bytesize::ByteSize;
use tempfile::TempDir;

use super::spec::keys::{Key, ValueKind};
use super::*;
use moongate_model::call_rate::{CallRate, ToolRate};
use moongate_model::names::StoreName;
use moongate_model::roles::{AccessRole, AccessRoles, CallerCondition, NamePattern, SubjectCondition};

mod broken;
mod goldens;
mod hostile;

/// The directory of files with mistakes and the expected diagnostics.
fn goldens_dir() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/ui/config").canonicalize().unwrap()
}

/// The variables of tests.
fn environment() -> BTreeMap<String, String> {
    let variables = [
        ("HOME", "/srv/user"),
        ("TZ", "Europe/Berlin"),
        ("LANG", "en_GB.UTF-8"),
        ("EMPTY", ""),
        ("SHORT", "hunter2"),
        ("SPACED", "not a token, but a sentence"),
        ("GATEWAY_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("SAME_TOKEN", "0123456789abcdef0123456789abcdef"),
        ("OTHER_TOKEN", "fedcba9876543210fedcba9876543210"),
        ("BEARER", "Bearer fedcba9876543210"),
    ];
    variables.into_iter().map(|(name, value)| (name.to_owned(), value.to_owned())).collect()
}

/// Loads a text as a file in the directory of the goldens.
#[track_caller]
fn config(text: &str) -> Config {
    let loaded = parse_config(&goldens_dir().join("gateway.toml"), text.to_owned(), &environment());
    let rendered = render_diagnostics(&loaded.problems, &loaded.source, RenderStyle::Plain);
    loaded.config.unwrap_or_else(|| panic!("{rendered}"))
}

/// A plugin's table that contains `rest`.
fn with_plugin(rest: &str) -> String {
    format!("version = 1\n[plugins.time]\nsource = 'files/time.wasm'\n{rest}")
}

/// Reports whether to update the goldens. Never in CI, where no one reviews the difference.
pub(crate) fn updates_goldens() -> bool {
    let wanted = std::env::var_os("UPDATE_GOLDENS").is_some();
    let in_ci = std::env::var("CI").is_ok_and(|ci| !ci.is_empty() && ci != "false");
    assert!(!(wanted && in_ci), "UPDATE_GOLDENS is refused if CI is set: any output would pass");
    wanted
}

#[test]
fn reads_every_key() {
    let config = config(&fs::read_to_string(goldens_dir().join("good.toml")).unwrap());
    let Config {
        file,
        http,
        unix_socket,
        admin,
        audit,
        watch,
        callers,
        wider_grants,
        require_all,
        startup_wait,
        stop_grace,
        cache,
        state,
        ca_file,
        certificates,
        concurrency,
        memory,
        page_size,
        sealing_key,
        sources,
        plugins,
        roles,
        secret_files,
        key_files,
        secrets,
        store,
        telemetry,
        digest: _,
        source_text: _,
    } = config;
    assert_eq!(store, None);
    check_telemetry(&telemetry.unwrap());
    assert_eq!(admin.unwrap().listen.to_string(), "[::1]:8932");
    let limits = UnixSocketLimits { max_connections: 9, idle_timeout: Duration::from_secs(60) };
    assert_eq!(unix_socket, Some(UnixSocketConfig { path: goldens_dir().join("files/mcp.sock"), limits }));
    check_audit(&audit.unwrap());
    assert_eq!(watch, WatchConfig { watches_files: false, poll_interval: Duration::from_millis(100) });
    assert_eq!(
        (wider_grants, require_all, stop_grace),
        (Some(WiderGrantsPolicy::Wait), true, Duration::ZERO)
    );
    assert_eq!(startup_wait, Duration::from_secs(5));
    let calls = callers.calls.map(|rate| (rate.to_string(), rate.burst.get()));
    assert_eq!(calls, Some(("600 a minute (burst 50)".to_owned(), 50)));
    assert_eq!(callers.completions, CallRate::parse("5/s"));
    assert_eq!(callers.concurrency.map(NonZeroU32::get), Some(8));
    assert_eq!(file, goldens_dir().join("gateway.toml"));
    assert_eq!(cache, goldens_dir().join("files/cache"));
    assert_eq!((state, concurrency), (None, 8));
    assert_eq!(memory, Some(ByteSize::gib(1)));
    assert_eq!(ca_file, Some(goldens_dir().join("files/ca.pem")));
    assert_eq!(certificates, [""; 0].map(PathBuf::from));
    assert_eq!(page_size.map(NonZeroU32::get), Some(50));
    assert_eq!(sealing_key.unwrap().expose(), "fedcba9876543210fedcba9876543210");
    check_sources(&sources);
    assert_eq!(secret_files, [goldens_dir().join("files/secret.txt")]);
    assert_eq!(secrets.len(), 3, "the token, the key and the file, which two tables name");
    assert_eq!(http.listen.to_string(), "[::1]:0");
    assert_eq!(http.allowed_hosts, [parse_host("gateway.example").unwrap()]);
    assert_eq!(http.allowed_origins, [WebOrigin::parse("https://example.com").unwrap()]);
    assert_eq!((http.max_body, http.max_sessions), (ByteSize::mib(1), 10));
    assert_eq!(http.session_idle, Duration::from_secs(90 * 60));
    assert_eq!(http.max_connections, Some(100));
    assert_eq!(
        http.trusted_proxies.iter().map(ToString::to_string).collect::<Vec<_>>(),
        ["10.0.0.7/32", "fd00::/8"]
    );
    assert_eq!((&*http.tokens[0].principal, http.tokens[0].token.expose().len()), ("ci", 32));
    let OAuthConfig { resource, scopes, issuers } = &http.oauth;
    assert_eq!(&*resource.as_ref().unwrap().text, "https://gateway.example/mcp");
    assert_eq!(scopes, &["mcp:use"]);
    let [remote, local] = issuers.as_slice() else { panic!("two issuers") };
    assert_eq!(
        (&*remote.issuer, remote.audiences.as_slice()),
        ("https://auth.example", &["api://gateway".to_owned()][..])
    );
    assert_eq!(remote.keys, KeyLocation::Address("https://auth.example/keys".parse().unwrap()));
    let introspection = remote.introspection.as_ref().unwrap();
    assert_eq!(introspection.endpoint.as_ref().unwrap().as_str(), "https://auth.example/introspect");
    assert_eq!((&*introspection.client_id, introspection.client_secret.expose().len()), ("gateway", 32));
    assert_eq!(remote.name_claim.as_deref(), Some("email"));
    assert_eq!(
        (local.audiences.as_slice(), &local.name_claim),
        (&["https://gateway.example/mcp".to_owned()][..], &None)
    );
    assert_eq!(local.keys, KeyLocation::File(goldens_dir().join("files/jwks.json")));
    assert_eq!(key_files, [goldens_dir().join("files/jwks.json")]);
    check_plugins(&plugins);
    check_roles(&roles.unwrap());
}

/// Checks the values of every key of the audit log.
fn check_audit(audit: &AuditConfig) {
    let expected = AuditConfig {
        file: goldens_dir().join("log/audit.jsonl"),
        key: Some(Secret::new("0123456789abcdef0123456789abcdef".to_owned())),
        when_full: AuditWhenFull::Drop,
        arguments: AuditArguments::Full,
        mask: vec!["password".to_owned()],
        max_size: ByteSize::mib(1),
        keep: 3,
    };
    assert_eq!(audit, &expected);
}

/// Checks the values of every key of the export.
fn check_telemetry(telemetry: &TelemetryConfig) {
    let headers =
        vec![("authorization".to_owned(), Secret::new("Bearer fedcba9876543210fedcba9876543210".to_owned()))];
    let expected = TelemetryConfig {
        otlp: Some("http://127.0.0.1:4318/base".to_owned()),
        headers,
        signals: BTreeSet::from([TelemetrySignal::Traces]),
        sample_percent: Some(10),
        traces_per_second: 5,
        follow_callers: Some(true),
    };
    assert_eq!(telemetry, &expected);
}

/// Checks the values of every key of a role.
fn check_roles(roles: &AccessRoles) {
    let [readers] = roles.roles() else { panic!("one role") };
    let AccessRole { name, span: _, members, allow, deny, limits } = readers;
    assert_eq!(&**name, "readers");
    let [ci, ann] = members.as_slice() else { panic!("two members") };
    assert_eq!(ci.callers, CallerCondition::Token("ci".into()));
    let subject = SubjectCondition {
        issuer: "https://auth.example".into(),
        subject: Some("ann".into()),
        scope: Some("read".into()),
        claim: Some(("groups".into(), "staff".into())),
    };
    assert_eq!(ann.callers, CallerCondition::Subject(subject));
    let names = |patterns: &[NamePattern]| {
        patterns.iter().map(|pattern| pattern.as_str().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(
        (names(&allow.plugins), names(&allow.tools)),
        (vec!["another".to_owned()], vec!["time".to_owned()])
    );
    assert_eq!(names(&deny.prompts), ["*_draft"]);
    assert_eq!(deny.resources[0].as_str(), "time://{zone}");
    assert_eq!(limits.calls, CallRate::parse("9/s"));
    assert_eq!((limits.completions, limits.concurrency.map(NonZeroU32::get)), (None, Some(3)));
}

/// Checks the values of every key of `[sources]`.
fn check_sources(sources: &SourcesConfig) {
    let SourcesConfig { plain_http, signers, require_signature, key_files, lock_file, components } = sources;
    assert_eq!(*plain_http, PlainHttpHosts::parse(["registry.internal:5000"]).unwrap());
    let signers: Vec<_> = signers.iter().map(|key| (key.name.as_str(), key.id().to_string())).collect();
    assert_eq!(signers.iter().map(|(name, _)| *name).collect::<Vec<_>>(), ["acme", "ci"]);
    assert!(signers[0].1.starts_with("minisign:sha256:") && signers[1].1.starts_with("cosign:sha256:"));
    assert!(require_signature);
    assert_eq!(*key_files, [goldens_dir().join("files/cosign.pub")]);
    assert_eq!(*lock_file, goldens_dir().join("moongate.lock"));
    assert_eq!(*components, goldens_dir().join("files/cache/components"));
}

/// Checks the values of every key of a plugin.
fn check_plugins(plugins: &[Arc<PluginConfig>]) {
    let [time, another, remote] = plugins else { panic!("three plugins") };
    let remote = remote.remote.as_ref().unwrap();
    assert_eq!(remote.reference.shown(), "oci://registry.internal:5000/acme/remote:1.2");
    let SignatureRule::AnyOf(keys) = &remote.signatures else { panic!("signed") };
    assert_eq!(keys.iter().map(|key| key.name.as_str()).collect::<Vec<_>>(), ["ci"]);
    assert!(remote.locked.is_err());
    assert_eq!((time.reload, another.reload), (ReloadPolicy::Pinned, ReloadPolicy::Live));
    assert_eq!(time.source, goldens_dir().join("files/time.wasm"));
    assert_eq!((time.prefix.as_str(), another.prefix.as_str()), ("", "another"));
    assert_eq!(time.uris, ["time://"]);
    assert_eq!(
        time.rates.each,
        ToolRate { calls: CallRate::parse("9/h"), per_caller: CallRate::parse("5/h") }
    );
    assert_eq!(time.rates.tools["now"], ToolRate { calls: CallRate::parse("1/d"), per_caller: None });
    assert_eq!((time.portable_schemas, another.portable_schemas), (false, true));
    assert!(time.tools.allow.is_none() && time.tools.deny.contains("convert"));
    assert_eq!(time.tools.rename["now"].as_str(), "time");
    let [dir] = time.allow.dirs.as_slice() else { panic!("one directory") };
    assert_eq!(
        (&dir.host_path, dir.guest_path.as_str(), dir.mode),
        (&goldens_dir().join("files/notes"), "/notes", DirMode::ReadOnly)
    );
    assert_eq!(time.allow.env, [("LANG".to_owned(), "en_GB.UTF-8".to_owned())]);
    assert!(time.allow.instructions && time.allow.client.contains(&ClientFeature::Elicitation));
    let [wikis, intranet] = time.allow.http.as_slice() else { panic!("two grants") };
    assert_eq!((wikis.describe(), wikis.networks.len()), ("https://*.example.org".to_owned(), 0));
    assert_eq!(intranet.describe(), "http://intranet.example:8080/api by GET in 10.1.0.0/16");
    let [credential] = time.allow.credentials.as_slice() else { panic!("one credential") };
    let from = goldens_dir().join("files/secret.txt").display().to_string();
    assert_eq!(
        credential.describe(),
        format!("credentials for https://api.example.org: authorization from file {from}")
    );
    assert_eq!(credential.headers[0].1.expose(), "Bearer a-secret-of-thirty-two-characters");
    assert_eq!((time.limits.queue, time.limits.timeout), (0, Duration::from_secs(5)));
    assert_eq!((another.limits.queue, another.limits.memory), (256, ByteSize::mib(32)));
    let settings: Vec<_> = time.settings.iter().map(|(key, value)| (key.as_str(), value.expose())).collect();
    assert_eq!(
        settings,
        [
            ("holidays", r#"["1979-05-27",{"name":"new year","day":1}]"#),
            ("key", "a-secret-of-thirty-two-characters"),
            ("zone", "Europe/Paris"),
        ]
    );
}

#[test]
fn documented_defaults_match_the_code() {
    fn write(keys: &[Key], path: &str, out: &mut String) {
        writeln!(out, "[{path}]").unwrap();
        for key in keys {
            match key.default {
                Some(default) => writeln!(out, "{} = {default}", key.name).unwrap(),
                None if key.name == "source" => writeln!(out, "source = 'files/time.wasm'").unwrap(),
                None if key.name == "path" => writeln!(out, "path = 'files/mcp.sock'").unwrap(),
                None => {}
            }
        }
        for key in keys {
            // A table with required keys, such as `http.tls`, has no defaults as a whole.
            if let ValueKind::Table(keys) = key.kind
                && !keys.iter().any(|key| key.required)
            {
                write(keys, &format!("{path}.{}", key.name), out);
            }
        }
    }
    let mut spelt_out = "version = 1\n".to_owned();
    for key in keys::ROOT {
        match key.kind {
            // It needs an address and a sealing key.
            ValueKind::Table(_) if key.name == "store" => {}
            ValueKind::Table(keys) => write(keys, key.name, &mut spelt_out),
            ValueKind::Named(ValueKind::Table(keys)) if key.name == "plugins" => {
                write(keys, "plugins.time", &mut spelt_out)
            }
            _ => {}
        }
    }
    assert!(spelt_out.contains("describe_timeout") && spelt_out.contains("session_idle"), "{spelt_out}");
    let (documented, holding) = (config(&spelt_out), config(&with_plugin("")));
    assert_eq!(format!("{:?}", documented.http), format!("{:?}", holding.http));
    assert_eq!(documented.concurrency, holding.concurrency);
    assert_eq!((documented.page_size, documented.sealing_key), (holding.page_size, holding.sealing_key));
    assert_eq!((documented.watch, documented.wider_grants), (holding.watch, holding.wider_grants));
    assert_eq!((documented.require_all, documented.stop_grace), (holding.require_all, holding.stop_grace));
    assert_eq!(documented.startup_wait, holding.startup_wait);
    assert_eq!((&documented.audit, holding.audit), (&config(&with_plugin("[audit]")).audit, None));
    assert_eq!((&documented.telemetry, holding.telemetry), (&Some(TelemetryConfig::default()), None));
    assert_eq!((documented.admin, holding.admin), (Some(AdminConfig::default()), None));
    assert_eq!(documented.unix_socket.map(|socket| socket.limits), Some(UnixSocketLimits::default()));
    assert!(documented.plugins[0].is_equivalent_to(&holding.plugins[0]), "{:?}", documented.plugins[0]);
    assert_eq!(holding.plugins[0].limits, Limits::default());
}

#[test]
fn documented_defaults_of_the_store_match_the_code() {
    let store = |rest: &str| {
        let text = "gateway.sealing_key = { env = 'GATEWAY_TOKEN' }\n[store]\nurl = 'redis://localhost'\n";
        config(&format!("version = 1\n{text}{rest}")).store.unwrap()
    };
    let Some(ValueKind::Table(keys)) = keys::ROOT.iter().find(|key| key.name == "store").map(|key| key.kind)
    else {
        panic!("there is no store")
    };
    let defaults = keys.iter().filter_map(|key| Some(format!("{} = {}\n", key.name, key.default?)));
    assert_eq!(store(&defaults.collect::<String>()), store(""));
    let other = store("prefix = 'a:'\nrates_when_down = 'refuse'\nresponse_timeout = '50ms'");
    assert_eq!(other.rates_when_down, RatesWhenDown::Refuse);
    assert_eq!((other.prefix.as_str(), other.response_timeout), ("a:", Duration::from_millis(50)));
}

#[test]
fn reads_state_grants() {
    let granted = |text: &str| config(&with_plugin(text)).plugins[0].allow.state.clone();
    assert_eq!(granted(""), StateGrant::NotGranted);
    assert_eq!(granted("allow.state = false"), StateGrant::NotGranted);
    assert_eq!(granted("allow.state = true"), StateGrant::Own);
    assert_eq!(granted("allow.state = 'notes'"), StateGrant::Shared(StoreName::new("notes").unwrap()));
    let slips = [
        ("'two words'", "invalid store name"),
        ("'true'", "invalid store name `true`"),
        ("1", "`true`, `false` or a name"),
    ];
    for (wrong, part) in slips {
        let text = with_plugin(&format!("allow.state = {wrong}"));
        let loaded = parse_config(&goldens_dir().join("gateway.toml"), text, &environment());
        assert!(
            loaded.config.is_none() && loaded.problems[0].message.contains(part),
            "{:?}",
            loaded.problems
        );
    }
}

#[test]
fn keeps_the_order_of_plugins() {
    let mut text = "version = 1\n".to_owned();
    for id in ["zebra", "ant", "mole"] {
        writeln!(text, "[plugins.{id}]\nsource = 'files/time.wasm'").unwrap();
    }
    let ids: Vec<_> = config(&text).plugins.iter().map(|plugin| plugin.id.to_string()).collect();
    assert_eq!(ids, ["zebra", "ant", "mole"]);
}

#[test]
fn fills_in_variables_without_parsing_them() {
    let text = with_plugin(
        r#"[plugins.time.config]
           plain = "in ${LANG}, not $LANG, not $${LANG}, 5$"
           default = "${NOT_SET:-a default}, ${EMPTY:-another}, ${EMPTY}"
           tricky = "${TRICKY}"
           "${LANG}" = "keys stay as they are""#,
    );
    let mut environment = environment();
    environment.insert("TRICKY".to_owned(), "\"\n[plugins.evil]\nsource = \"${LANG}\"".to_owned());
    let config = parse_config(&goldens_dir().join("gateway.toml"), text, &environment).config.unwrap();
    let setting = |key: &str| config.plugins[0].settings[key].expose().to_owned();
    assert_eq!(config.plugins.len(), 1);
    assert_eq!(setting("plain"), "in en_GB.UTF-8, not $LANG, not ${LANG}, 5$");
    assert_eq!(setting("default"), "a default, another, ");
    assert_eq!(setting("tricky"), environment["TRICKY"]);
    assert_eq!(setting("${LANG}"), "keys stay as they are");
}

#[test]
fn strips_one_line_break_of_a_secret_file() {
    let place = TempDir::new().unwrap();
    let written = [("a", "x\n", "x"), ("b", "x\r\n", "x"), ("c", " x \n\n", " x \n"), ("d", "x", "x")];
    let mut text = format!(
        "version = 1\n[plugins.time]\nsource = '{}'\n[plugins.time.config]\n",
        goldens_dir().join("files/time.wasm").display()
    );
    for (key, content, _) in written {
        fs::write(place.path().join(key), content).unwrap();
        writeln!(text, "{key} = {{ file = '{key}' }}").unwrap();
    }
    let config = parse_config(&place.path().join("gateway.toml"), text, &environment()).config.unwrap();
    for (key, _, secret) in written {
        assert_eq!(config.plugins[0].settings[key].expose(), secret, "{key}");
    }
}

#[test]
fn finds_the_cache_directory() {
    let cache = |variables: &[(&str, &str)], text: &str| {
        let variables =
            variables.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        let environment: BTreeMap<String, String> = variables;
        parse_config(Path::new("/etc/moongate/gateway.toml"), text.to_owned(), &environment)
            .config
            .unwrap()
            .cache
    };
    let (bare, own) = ("version = 1", "version = 1\ngateway.cache = 'here'");
    let all = [("HOME", "/h"), ("XDG_CACHE_HOME", "/x"), ("MOONGATE_CACHE_DIR", "/m")];
    assert_eq!(cache(&all[..1], bare), Path::new("/h/.cache/moongate"));
    assert_eq!(cache(&all[..2], bare), Path::new("/x/moongate"));
    assert_eq!(
        cache(&[("HOME", "/h"), ("XDG_CACHE_HOME", "relative")], bare),
        Path::new("/h/.cache/moongate")
    );
    assert_eq!(cache(&all[..2], own), Path::new("/etc/moongate/here"));
    assert_eq!(cache(&all, own), Path::new("/m"));
    assert_eq!(cache(&[("MOONGATE_CACHE_DIR", "")], own), Path::new("/etc/moongate/here"));
}

#[test]
fn compares_plugins_by_content() {
    let before = config(&with_plugin("limits.timeout = '5s'"));
    let moved = config(&format!("# a comment\n{}", with_plugin("limits = { timeout = '5000ms' }\n\n")));
    assert_ne!(before.plugins[0].span, moved.plugins[0].span);
    assert!(before.plugins[0].is_equivalent_to(&moved.plugins[0]));
    let changes = [
        "limits.timeout = '6s'",
        "prefix = 'clock'",
        "reload = 'pinned'",
        "instances = 'reused'",
        "limits.compile_time = '5s'",
        "limits.compile_memory = '2GiB'",
        "limits.reuse_memory = '5MiB'",
        "config.a = 'b'",
        "allow.instructions = true",
        "allow.dirs = [{ host = 'files/notes', guest = '/n' }]",
        "tools.deny = ['now']",
        "uris = ['a:b']",
        "portable_schemas = true",
        "allow.state = true",
        "allow.state = 'notes'",
    ];
    let bare = config(&with_plugin(""));
    for change in changes {
        assert!(!config(&with_plugin(change)).plugins[0].is_equivalent_to(&bare.plugins[0]), "{change}");
    }
}

#[test]
fn reports_an_unreadable_file() {
    let place = TempDir::new().unwrap();
    fs::write(place.path().join("binary.toml"), [0xff, 0xfe, 0x00]).unwrap();
    for (name, part) in
        [("none.toml", "doesn't exist"), ("", "directory"), ("binary.toml", "isn't valid UTF-8")]
    {
        let LoadedConfig { config, problems, .. } = load_config(&place.path().join(name), &environment());
        assert!(config.is_none() && problems.len() == 1, "{name}: {problems:?}");
        assert!(problems[0].message.contains(part), "{name}: {problems:?}");
    }
    let (file, text) = (place.path().join("gateway.toml"), "version = 1");
    fs::write(&file, text).unwrap();
    let loaded = load_config(&file, &environment());
    assert!(loaded.config.is_some() && loaded.problems.is_empty());
    assert_eq!(loaded.source.text, text);
}

#[test]
fn example_files_are_valid() {
    for file in ["gateway.toml", "tests/everything.toml"] {
        let loaded =
            load_config(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file), &environment());
        assert!(loaded.problems.is_empty(), "{file}: {:?}", loaded.problems);
    }
}

#[test]
fn a_missing_component_is_left_to_loading() {
    let place = TempDir::new().unwrap();
    let file = place.path().join("gateway.toml");
    let read = |more: &str| {
        let text = format!("version = 1\n{more}\n[plugins.a]\nsource = 'later/a.wasm'\n");
        parse_config(&file, text, &environment())
    };
    let loaded = read("");
    assert_eq!(loaded.problems, []);
    assert_eq!(loaded.config.unwrap().plugins[0].source, place.path().join("later/a.wasm"));

    // Another error keeps the plugins from being loaded, so everything is reported at once.
    let messages: Vec<_> = read("colour = 1").problems.into_iter().map(|problem| problem.message).collect();
    assert_eq!(messages.len(), 2, "{messages:?}");
    assert!(messages[1].ends_with("`later/a.wasm` doesn't exist"), "{messages:?}");
    assert_eq!(read("[http]\nauth.tokens = []").problems, []);
}

#[test]
fn lists_every_file_even_with_errors() {
    let place = TempDir::new().unwrap();
    let at = |name: &str| place.path().join(name);
    let files = |loaded: LoadedConfig| loaded.files.into_iter().collect::<Vec<_>>();
    assert_eq!(files(load_config(&at("gateway.toml"), &environment())), [at("gateway.toml")]);
    let read = |text: &str| files(parse_config(&at("gateway.toml"), text.to_owned(), &environment()));
    assert_eq!(read("version ="), [at("gateway.toml")]);
    assert_eq!(read("version = 2"), [at("gateway.toml")]);
    let text = "version = 1
        gateway.sealing_key = { file = 'key' }
        [plugins.a]
        source = 'a.wasm'
        colour = 1
        allow.dirs = [{ host = 'notes', guest = '/n' }, { host = '.', guest = '/m' }]
        config.password = { file = 'secrets/password' }";
    fs::write(at("key"), "a-secret-of-thirty-two-characters").unwrap();
    let all = ["a.wasm", "gateway.toml", "key", "notes", "secrets/password"].map(at);
    assert_eq!(read(text), all);
}

#[test]
fn detects_port_collisions() {
    let admin = |listen: &str| AdminConfig { listen: listen.parse().unwrap(), ..AdminConfig::default() };
    for (own, http) in [
        ("127.0.0.1:8931", "127.0.0.1:8931"),
        ("127.0.0.1:8931", "0.0.0.0:8931"),
        ("[::1]:8931", "[::]:8931"),
        ("127.0.0.1:8931", "[::]:8931"),
        ("[::ffff:127.0.0.1]:8931", "127.0.0.1:8931"),
    ] {
        assert!(admin(own).collides_with(http.parse().unwrap()), "{own} {http}");
    }
    for (own, http) in [
        ("127.0.0.1:0", "127.0.0.1:0"),
        ("127.0.0.1:8932", "127.0.0.1:8931"),
        ("127.0.0.2:8931", "127.0.0.1:8931"),
        ("127.0.0.1:8931", "192.0.2.1:8931"),
    ] {
        assert!(!admin(own).collides_with(http.parse().unwrap()), "{own} {http}");
    }
}

#[test]
fn only_loopback_addresses_need_no_token() {
    let bare = HttpConfig::default();
    for open in ["0.0.0.0:0", "[::]:0", "192.0.2.1:80", "[::ffff:192.0.2.1]:80"] {
        assert!(bare.is_open_without_tokens(open.parse().unwrap()), "{open}");
    }
    for closed in ["127.0.0.1:0", "127.1.2.3:0", "[::1]:0", "[::ffff:127.0.0.1]:0"] {
        assert!(!bare.is_open_without_tokens(closed.parse().unwrap()), "{closed}");
    }
    let guarded = config(
        "version = 1\nhttp.listen = '0.0.0.0:0'\nhttp.auth.tokens = [{ name = 'a', token = { env = 'GATEWAY_TOKEN' } }]",
    );
    assert!(!guarded.http.is_open_without_tokens(guarded.http.listen));
}
