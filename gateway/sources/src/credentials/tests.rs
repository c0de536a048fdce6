//! Unit tests of the credentials of container tools.

use serde_json::json;

use super::*;

fn reference(text: &str) -> OciReference {
    OciReference::parse(text).unwrap()
}

fn basic(user: &str, password: &str) -> Option<RegistryCredential> {
    Some(RegistryCredential::Basic { user: user.to_owned(), password: Secret::new(password) })
}

#[test]
fn finds_the_most_specific_credentials_of_the_first_file() {
    let place = tempfile::tempdir().unwrap();
    let path = |name: &str| place.path().join(name);
    let auth = |text: &str| json!({ "auth": BASE64_STANDARD.encode(text) });
    fs::create_dir_all(path("config/containers")).unwrap();
    let containers = json!({ "auths": {
        "quay.io": auth("whole:1"), "quay.io/acme": auth("acme:2"), "quay.io/acme/tools/time": auth("time:3:4"),
        "refresh.example": { "identitytoken": "abc", "auth": "" }, "empty.example": {},
    } });
    fs::write(path("config/containers/auth.json"), containers.to_string()).unwrap();
    let docker = json!({ "auths": {
        "https://index.docker.io/v1/": auth("hub:5"), "quay.io": auth("later:6"),
        "https://ghcr.io": { "username": "octo", "password": "7" }, "empty.example": auth("docker:8"),
    }, "credsStore": "desktop", "credHelpers": { "gcr.io": "gcloud" } });
    fs::create_dir_all(path("docker")).unwrap();
    fs::write(path("docker/config.json"), docker.to_string()).unwrap();
    let files = CredentialFiles::read(|name| match name {
        "XDG_CONFIG_HOME" => Some(path("config")),
        "DOCKER_CONFIG" => Some(path("docker")),
        "XDG_RUNTIME_DIR" => Some(path("missing")),
        _ => None,
    });
    let expected = [
        ("quay.io/acme/tools/time:1", basic("time", "3:4")),
        ("quay.io/acme/tools/timer:1", basic("acme", "2")),
        ("quay.io/acmen/time:1", basic("whole", "1")),
        ("docker.io/acme/time:1", basic("hub", "5")),
        ("ghcr.io/acme/time:1", basic("octo", "7")),
        ("empty.example/time:1", basic("docker", "8")),
        ("quay.io:443/acme/time:1", None),
        ("refresh.example/time:1", Some(RegistryCredential::RefreshToken(Secret::new("abc")))),
    ];
    for (text, credential) in expected {
        assert_eq!(files.find(&reference(text)).unwrap(), credential, "{text}");
    }
    assert_eq!(files.helper(&reference("gcr.io/acme/time:1")), Some("gcloud"));
    assert_eq!(files.helper(&reference("quay.io/acme/time:1")), Some("desktop"));
}

#[test]
fn finds_the_file_of_a_user_without_a_runtime_directory() {
    let home = |name: &str| (name == "HOME").then(|| PathBuf::from("/home/ann"));
    let own = format!("/run/containers/{}/auth.json", rustix::process::getuid());
    let expected = [own.as_str(), "/home/ann/.config/containers/auth.json", "/home/ann/.docker/config.json"];
    assert_eq!(paths(home), expected.map(PathBuf::from));
    let runtime = |name: &str| (name == "XDG_RUNTIME_DIR").then(|| PathBuf::from("/run/user/1"));
    assert_eq!(paths(runtime), [PathBuf::from("/run/user/1/containers/auth.json")]);
}

#[test]
fn a_broken_file_is_an_error_that_shows_no_password() {
    let place = tempfile::tempdir().unwrap();
    fs::write(place.path().join("config.json"), "{\"auths\": {\"ghcr.io\": \"hunter2").unwrap();
    let files = CredentialFiles::read(|name| (name == "DOCKER_CONFIG").then(|| place.path().to_owned()));
    let error = files.find(&reference("ghcr.io/acme/time:1")).unwrap_err();
    assert!(error.to_string().contains("config.json") && !error.to_string().contains("hunter2"), "{error}");
}
