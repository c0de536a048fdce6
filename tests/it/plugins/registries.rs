//! Plugins from OCI registries: a real registry, and one that lies.

use std::fs;
use std::process::Command;

use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use moongate_generated::Plugin;
use moongate_model::names::Digest;
use moongate_tests::{
    DockerRegistry, FakeRegistry, MinisignSigner, REGISTRY_LOGIN, RegistryLogin, TestServer, component,
    installed, wait_until,
};
use serde_json::{Value, json};

use super::remote_sources::{Sources, digest, version};

const COMPONENT_TYPE: &str = "application/wasm";

/// A registry with a version of a plugin, and a workspace that uses it.
fn fake(version: u32) -> (FakeRegistry, Sources) {
    let registry = FakeRegistry::start();
    registry.add_artifact("1", COMPONENT_TYPE, &Plugin::version(version).build());
    let sources = Sources::one(&registry.reference("one:1"), "");
    (registry, sources)
}

fn log_in(sources: &Sources, registry: &FakeRegistry, login: &str) {
    let auths = json!({ "auths": { registry.host(): { "auth": BASE64_STANDARD.encode(login) } } });
    sources.workspace.write(".docker/config.json", auths.to_string());
}

#[test]
fn pushes_to_and_pulls_from_a_real_registry() {
    let sources = Sources::new("");
    let Some(registry) = DockerRegistry::start(sources.workspace.path()) else { return };
    let reference = format!("oci://{}/acme/tools/time:1.0", registry.host());
    let file = component("time").display().to_string();
    let push = [
        "push",
        &file,
        &reference,
        "--format",
        "json",
        "--annotation",
        "org.opencontainers.image.source=https://example.com",
    ];
    sources.succeed(&push);
    // Blobs in the registry aren't uploaded again. The manifest is, because it contains the time.
    let pushed: Value = serde_json::from_str(&sources.succeed(&push)).unwrap();
    let manifest = pushed["digest"].as_str().unwrap().to_owned();
    let config = format!("version = 1\n[plugins.time]\nsource = \"{reference}\"\n");
    fs::write(sources.workspace.config(), config).unwrap();
    sources.succeed(&["fetch"]);
    let lock = sources.lock();
    assert!(lock.contains(&format!("size = {}", fs::metadata(component("time")).unwrap().len())), "{lock}");
    drop(registry);
    sources.succeed(&["check"]);
    assert!(sources.succeed(&["inspect", "time"]).contains("convert_time"));
    assert!(lock.contains(&format!("@{manifest}\"")), "{lock} {manifest}");
}

#[test]
fn skopeo_reads_what_push_publishes() {
    let sources = Sources::new("");
    let (Some(registry), Some(skopeo)) =
        (DockerRegistry::start(sources.workspace.path()), installed("skopeo"))
    else {
        return;
    };
    let name = format!("{}/acme/time:1.0", registry.host());
    let file = component("time").display().to_string();
    let pushed = sources.succeed(&["push", &file, &format!("oci://{name}")]);
    let inspect = |arguments: &[&str]| -> Value {
        let mut command = Command::new(&skopeo);
        command.args(["inspect", "--tls-verify=false"]).args(arguments).arg(format!("docker://{name}"));
        let output = command.output().unwrap();
        assert!(output.status.success(), "{output:?}");
        serde_json::from_slice(&output.stdout).unwrap()
    };
    let manifest = inspect(&["--raw"]);
    assert_eq!(manifest["config"]["mediaType"], "application/vnd.wasm.config.v0+json");
    assert_eq!(manifest["layers"].as_array().unwrap().len(), 1);
    assert_eq!(manifest["layers"][0]["mediaType"], COMPONENT_TYPE);
    let layer = manifest["layers"][0]["digest"].clone();
    assert_eq!(layer, format!("sha256:{}", Digest::of(&fs::read(component("time")).unwrap())));
    assert_eq!(manifest["annotations"]["org.opencontainers.image.title"], "time");
    let config = inspect(&["--raw", "--config"]);
    assert_eq!((&config["architecture"], &config["os"]), (&json!("wasm"), &json!("wasip2")));
    assert_eq!(config["layerDigests"], json!([layer]));
    let exports = config["component"]["exports"].as_array().unwrap();
    assert!(exports.iter().any(|name| name == "moongate:plugin/tools@0.1.0"), "{config}");
    // skopeo copies the artifact unchanged, and the copy has the same digest.
    let mut copy = Command::new(&skopeo);
    copy.args(["copy", "--src-tls-verify=false", &format!("docker://{name}")]);
    copy.arg(format!("oci:{}:1.0", sources.path("layout").display()));
    let output = copy.output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let index = fs::read_to_string(sources.path("layout/index.json")).unwrap();
    let own = pushed.trim().rsplit_once('@').unwrap().1;
    assert!(index.contains(own), "{index} {own}");
}

#[test]
fn a_moved_tag_changes_nothing_until_update() {
    let (registry, sources) = fake(1);
    sources.succeed(&["fetch"]);
    let http = sources.serve();
    let moved = registry.add_artifact("1", COMPONENT_TYPE, &Plugin::version(2).build());
    sources.succeed(&["fetch"]);
    sources.succeed(&["check"]);
    assert_eq!(version(&http), "v1");
    sources.stored().into_values().for_each(|file| fs::remove_file(file).unwrap());
    sources.succeed(&["fetch", "--locked"]);
    assert!(sources.stored().contains_key(&format!("{}.wasm", digest(1))), "{:?}", sources.stored());
    let page = sources.succeed(&["update", "--yes"]);
    assert!(page.contains(&format!("→ oci://{}/acme/one@sha256:{moved}", registry.host())), "{page}");
    wait_until("the new version serves", || version(&http) == "v2");
}

#[test]
fn every_lie_of_a_registry_is_one_message() {
    type Lie = fn(&FakeRegistry);
    fn layers(registry: &FakeRegistry, layers: &Value) {
        registry.add_manifest("1", &json!({ "schemaVersion": 2, "layers": layers }));
    }
    fn layer(media_type: &str, digest: &str, size: u64) -> Value {
        json!({ "mediaType": media_type, "digest": digest, "size": size })
    }
    let lies: [(&str, Lie); 14] = [
        ("the registry sent other content", |registry| {
            registry.state().blobs.values_mut().for_each(|blob| *blob = Plugin::version(2).build());
        }),
        ("the registry sent other content", |registry| {
            registry.state().blobs.values_mut().for_each(|blob| blob.truncate(blob.len() / 2));
        }),
        ("HTTP status 404 Not Found: MANIFEST_UNKNOWN not here", |registry| registry.state().blobs.clear()),
        ("the manifest announces 1000000 bytes", |registry| {
            let blob = registry.add_blob(&Plugin::version(1).build());
            layers(registry, &json!([layer(COMPONENT_TYPE, &format!("sha256:{blob}"), 1_000_000)]));
        }),
        ("larger than 10 B", |registry| {
            let blob = registry.add_blob(&Plugin::version(1).build());
            layers(registry, &json!([layer(COMPONENT_TYPE, &format!("sha256:{blob}"), 10)]));
        }),
        ("are allowed", |registry| {
            layers(registry, &json!([layer(COMPONENT_TYPE, &format!("sha256:{}", digest(1)), u64::MAX)]));
        }),
        ("unsupported digest `md5:00`", |registry| {
            layers(registry, &json!([layer(COMPONENT_TYPE, "md5:00", 1)]))
        }),
        ("unsupported digest", |registry| {
            layers(registry, &json!([layer(COMPONENT_TYPE, "sha256:../../../v2/other", 1)]));
        }),
        ("has a layer of type `application/vnd.oci.image.layer.v1.tar+gzip`", |registry| {
            layers(registry, &json!([layer("application/vnd.oci.image.layer.v1.tar+gzip", "sha256:0", 1)]));
        }),
        ("has 2 layers", |registry| {
            let one = layer(COMPONENT_TYPE, "sha256:0", 1);
            layers(registry, &json!([one, one]));
        }),
        ("an index of several manifests", |registry| {
            registry
                .add_manifest("1", &json!({ "schemaVersion": 2, "manifests": [layer("m", "sha256:0", 1)] }));
        }),
        ("invalid manifest", |registry| {
            registry.state().manifests.insert("1".to_owned(), ("text/html".to_owned(), b"<html>".to_vec()));
        }),
        ("larger than 4.0 MiB", |registry| {
            registry.state().manifests.insert("1".to_owned(), (String::new(), vec![b' '; 5 << 20]));
        }),
        ("doesn't exist", |registry| registry.state().manifests.clear()),
    ];
    for (expected, lie) in lies {
        let (registry, sources) = fake(1);
        lie(&registry);
        let failed = sources.fail(&["fetch"]);
        assert!(failed.contains("plugin `one`: ") && failed.contains(expected), "{expected}: {failed}");
        assert_eq!(failed.matches("error: ").count(), 1, "{failed}");
        assert_eq!((sources.lock(), sources.stored().len()), (String::new(), 0), "{expected}");
    }
    // Nor can a registry answer a digest with another manifest.
    let (registry, _) = fake(1);
    let manifest = registry.add_artifact("2", COMPONENT_TYPE, &Plugin::version(2).build());
    let first = registry.state().manifests["1"].clone();
    registry.state().manifests.insert(format!("sha256:{manifest}"), first);
    let sources = Sources::one(&registry.reference(&format!("one@sha256:{manifest}")), "");
    assert!(sources.fail(&["fetch"]).contains("the registry sent another manifest"));
}

#[test]
fn logs_in_with_the_credentials_of_container_tools() {
    for login in [RegistryLogin::Basic, RegistryLogin::Token] {
        let (registry, sources) = fake(1);
        registry.state().login = login;
        let denied = sources.fail(&["fetch"]);
        assert!(
            denied.contains("denies access to `acme/one`") && denied.contains("skopeo login"),
            "{denied}"
        );
        log_in(&sources, &registry, "moon:wrong");
        let wrong = sources.fail(&["fetch"]);
        assert!(wrong.contains("check the stored credentials") && !wrong.contains("wrong"), "{wrong}");
        sources.workspace.write(".docker/config.json", json!({ "credsStore": "desktop" }).to_string());
        let helper = sources.fail(&["fetch"]);
        assert!(helper.contains("the credential helper `desktop` isn't supported"), "{helper}");
        log_in(&sources, &registry, REGISTRY_LOGIN);
        sources.succeed(&["fetch"]);
        let file = sources.path("one.wasm");
        fs::write(&file, Plugin::version(3).build()).unwrap();
        sources.succeed(&["push", &file.display().to_string(), &registry.reference("one:3")]);
        assert!(registry.state().manifests.contains_key("3"));
    }
    let (registry, sources) = fake(1);
    registry.state().login = RegistryLogin::AnonymousToken;
    sources.succeed(&["fetch"]);
}

#[test]
fn credentials_never_follow_a_redirect_to_another_origin() {
    let (registry, sources) = fake(1);
    let storage = TestServer::start();
    let bytes = Plugin::version(1).build();
    storage.put(&format!("/sha256:{}", digest(1)), &[], bytes);
    registry.state().login = RegistryLogin::Token;
    registry.state().blob_origin = Some(storage.origin());
    log_in(&sources, &registry, REGISTRY_LOGIN);
    sources.succeed(&["fetch"]);
    let received = storage.requests();
    assert_eq!(received.len(), 1);
    assert_eq!(received[0].header("authorization"), None, "{}", received[0].head);
    let registry_requests = registry.state().requests.clone();
    assert!(registry_requests.iter().any(|request| request.header("authorization").is_some()));
}

/// A storage behind an honest registry could otherwise ask for the credentials itself.
#[test]
fn no_redirect_target_can_request_the_credentials() {
    for login in [RegistryLogin::None, RegistryLogin::Basic, RegistryLogin::Token] {
        for wanted in [RegistryLogin::Basic, RegistryLogin::Token] {
            let (registry, sources) = fake(1);
            let storage = FakeRegistry::start();
            storage.state().login = wanted;
            registry.state().login = login;
            registry.state().blob_origin = Some(format!("http://{}", storage.host()));
            log_in(&sources, &registry, REGISTRY_LOGIN);
            let failed = sources.fail(&["fetch"]);
            assert!(failed.contains("HTTP status 401 Unauthorized"), "{failed}");
            let received = storage.state().requests.clone();
            assert!(!received.is_empty(), "the redirect wasn't followed");
            for request in received {
                assert_eq!(request.header("authorization"), None, "{login:?} {wanted:?}: {}", request.head);
                assert!(!request.line().contains("/token"), "{login:?} {wanted:?}: {}", request.head);
            }
        }
    }
}

#[test]
fn accepts_the_media_types_of_other_tools() {
    for media_type in
        ["application/vnd.wasm.content.layer.v1+wasm", "application/vnd.module.wasm.content.layer.v1+wasm"]
    {
        let registry = FakeRegistry::start();
        registry.add_artifact("1", media_type, &Plugin::version(1).build());
        let sources = Sources::one(&registry.reference("one:1"), "");
        sources.succeed(&["fetch"]);
        assert_eq!(version(&sources.serve()), "v1");
    }
}

#[test]
fn push_refuses_what_no_gateway_could_load() {
    let (registry, sources) = fake(1);
    sources.workspace.write("text.wasm", "hello");
    let file = sources.path("text.wasm").display().to_string();
    assert!(
        sources
            .fail(&["push", &file, &registry.reference("one:2")])
            .contains("isn't a WebAssembly component")
    );
    let good = component("time").display().to_string();
    for (reference, expected) in [
        (format!("oci://{}/acme/one", registry.host()), "neither a tag nor a digest"),
        (format!("oci://{}/acme/one:1@sha256:{}", registry.host(), digest(1)), "under a tag"),
        ("https://example.com/one.wasm".to_owned(), "invalid reference"),
        ("oci://example.com:5000/Acme/one:1".to_owned(), "invalid repository"),
    ] {
        let refused = sources.fail(&["push", &good, &reference]);
        assert!(refused.contains(expected), "{refused}");
    }
    assert!(!registry.state().manifests.contains_key("2"));
}

#[test]
fn large_tokens_and_signatures_are_refused() {
    let (registry, _) = fake(1);
    let server = TestServer::start();
    server.put("/one.wasm", &[], Plugin::version(1).build());
    server.put("/one.wasm.minisig", &[], vec![b'x'; 17 << 10]);
    let signer = MinisignSigner::generate().public_key();
    let signers =
        format!("[sources]\nrequire_signature = true\nsigners.acme = {{ minisign = \"{signer}\" }}\n");
    let signed = Sources::one(&server.url("/one.wasm"), &signers);
    assert!(signed.fail(&["fetch"]).contains("larger than 16.0 KiB"));
    registry.state().login = RegistryLogin::LargeToken;
    let sources = Sources::one(&registry.reference("one:1"), "");
    assert!(sources.fail(&["fetch"]).contains("larger than 64.0 KiB"));
}
