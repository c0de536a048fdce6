//! Packages of a small script in place of the binary.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use super::file_tree::{FileTree, PLAIN, PROGRAM};
use super::*;

/// Prints completions and writes a man page, as the gateway does.
const BINARY: &str = "\
#!/bin/sh
case $1 in
    completions) echo \"completions for $2\" ;;
    man) mkdir -p \"$2\" && echo '.TH moongate 1' > \"$2/moongate.1\" ;;
esac
";

/// A checkout with the files that packages contain, and the script.
fn checkout() -> (TempDir, Project) {
    let directory = tempfile::tempdir().unwrap();
    let own = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    let mut tree = FileTree::default();
    for file in ["CHANGELOG.md", "LICENSE-APACHE", "LICENSE-MIT", "README.md"] {
        tree.file(file, PLAIN, fs::read(own.join(file)).unwrap());
    }
    for unit in archive::UNITS {
        let path = format!("contrib/systemd/{unit}");
        tree.file(&path, PLAIN, fs::read(own.join(&path)).unwrap());
    }
    tree.file("moongate", PROGRAM, BINARY);
    tree.file("ca.crt", PLAIN, "certificates");
    let root = directory.path().join("checkout");
    tree.write(&root).unwrap();
    (directory, Project::at(&root))
}

fn release(project: &Project) -> Release<'_> {
    let directory = project.target().join("dist");
    fs::create_dir_all(&directory).unwrap();
    let repository = Some(Repository::new("https://github.com/Example/moongate").unwrap());
    Release { project, directory, time: 1_700_000_000, repository }
}

fn built(project: &Project) -> BuiltBinary {
    BuiltBinary { target: Target::DEFAULT, path: project.root().join("moongate") }
}

/// The files of a tar archive: path, mode, owner and content.
fn entries(bytes: &[u8]) -> Vec<(String, u32, u64, Vec<u8>)> {
    let mut archive = tar::Archive::new(bytes);
    let entries = archive.entries().unwrap().map(|entry| {
        let mut entry = entry.unwrap();
        let mut content = Vec::new();
        std::io::copy(&mut entry, &mut content).unwrap();
        let path = entry.path().unwrap().to_string_lossy().into_owned();
        assert_eq!(entry.header().mtime().unwrap(), 1_700_000_000, "{path}");
        (path, entry.header().mode().unwrap(), entry.header().uid().unwrap(), content)
    });
    entries.collect()
}

fn gunzip(path: &Path) -> Vec<u8> {
    let output = std::process::Command::new("gzip").args(["-dc"]).arg(path).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    output.stdout
}

#[test]
fn image_is_a_valid_layout_with_an_unprivileged_user() {
    let (_directory, project) = checkout();
    let release = release(&project);
    let write = || {
        let path = image::write(&release, &[built(&project)], &project.root().join("ca.crt")).unwrap();
        fs::read(path).unwrap()
    };
    let bytes = write();
    assert_eq!(bytes, write(), "the same input gives another image");
    let files = entries(&bytes);
    let file =
        |name: &str| &files.iter().find(|(path, ..)| path == name).unwrap_or_else(|| panic!("no {name}")).3;
    assert_eq!(file("oci-layout").as_slice(), br#"{"imageLayoutVersion":"1.0.0"}"#);

    let blob = |descriptor: &Value| {
        let digest = descriptor["digest"].as_str().unwrap().strip_prefix("sha256:").unwrap();
        let content = file(&format!("blobs/sha256/{digest}"));
        assert_eq!(checksums::sha256(content), digest);
        assert_eq!(descriptor["size"], content.len());
        content.clone()
    };
    let json = |bytes: &[u8]| serde_json::from_slice::<Value>(bytes).unwrap();
    let top = json(file("index.json"));
    assert_eq!(top["manifests"][0]["annotations"]["org.opencontainers.image.ref.name"], VERSION);
    let index = json(&blob(&top["manifests"][0]));
    assert_eq!(index["manifests"][0]["platform"]["architecture"], "amd64");
    let manifest = json(&blob(&index["manifests"][0]));
    let config = json(&blob(&manifest["config"]));
    assert_eq!(config["config"]["User"], "65532:65532");
    assert_eq!(
        config["config"]["Labels"]["io.modelcontextprotocol.server.name"],
        "io.github.Example/moongate"
    );

    let layer = project.root().join("layer.tar.gz");
    fs::write(&layer, blob(&manifest["layers"][0])).unwrap();
    let layer = gunzip(&layer);
    assert_eq!(config["rootfs"]["diff_ids"][0], format!("sha256:{}", checksums::sha256(&layer)));
    let root: Vec<_> =
        entries(&layer).into_iter().map(|(path, mode, owner, _)| (path, mode, owner)).collect();
    for (path, mode, owner) in [
        ("usr/bin/moongate", 0o755, 0),
        ("etc/ssl/certs/ca-certificates.crt", 0o644, 0),
        ("tmp/", 0o1777, 0),
        ("var/cache/moongate/", 0o700, 65_532),
        ("var/lib/moongate/", 0o700, 65_532),
    ] {
        assert!(root.contains(&(path.to_owned(), mode, owner)), "{path} isn't in {root:?}");
    }
}

#[test]
fn archive_contains_program_pages_and_units() {
    let (_directory, project) = checkout();
    let path = archive::write(&release(&project), &built(&project)).unwrap();
    let name = format!("moongate-{VERSION}-x86_64-unknown-linux-musl");
    assert_eq!(path.file_name().unwrap().to_str(), Some(format!("{name}.tar.gz").as_str()));
    let files: Vec<_> = entries(&gunzip(&path)).into_iter().map(|(path, mode, ..)| (path, mode)).collect();
    for (file, mode) in [
        ("moongate", 0o755),
        ("LICENSE-MIT", 0o644),
        ("completions/_moongate", 0o644),
        ("man/man1/moongate.1", 0o644),
        ("systemd/moongate.service.d/notify-reload.conf", 0o644),
    ] {
        assert!(files.contains(&(format!("{name}/{file}"), mode)), "{file} isn't in {files:?}");
    }
}

#[test]
fn debian_package_installs_program_and_units() {
    if ProcessRun::new("dpkg-deb").arg("--version").read_stdout().is_err() {
        return;
    }
    let (directory, project) = checkout();
    let path = debian::write(&release(&project), &built(&project)).unwrap();
    let field = |name: &str| {
        let text = ProcessRun::new("dpkg-deb").arg("--field").arg(&path).arg(name).read_stdout().unwrap();
        text.trim().to_owned()
    };
    assert_eq!((field("Package"), field("Architecture")), ("moongate".to_owned(), "amd64".to_owned()));
    assert_eq!(field("Depends"), "", "the binary is static");
    let unpacked = directory.path().join("unpacked");
    ProcessRun::new("dpkg-deb").arg("--raw-extract").arg(&path).arg(&unpacked).run().unwrap();
    let unit = fs::read_to_string(unpacked.join("usr/lib/systemd/system/moongate.service")).unwrap();
    assert!(unit.contains("\nExecStart=/usr/bin/moongate serve "), "{unit}");
    for script in ["postinst", "prerm", "postrm"] {
        ProcessRun::new("sh").arg("-n").arg(unpacked.join("DEBIAN").join(script)).run().unwrap();
    }
    for file in [
        "usr/bin/moongate",
        "usr/lib/systemd/system/moongate.socket",
        "usr/share/bash-completion/completions/moongate",
        "usr/share/man/man1/moongate.1.gz",
        "usr/share/doc/moongate/copyright",
        "usr/share/doc/moongate/examples/moongate.service.d/notify-reload.conf",
    ] {
        assert!(unpacked.join(file).is_file(), "{file} is missing");
    }
    let owners = ProcessRun::new("dpkg-deb").arg("--contents").arg(&path).read_stdout().unwrap();
    assert!(owners.lines().all(|line| line.contains(" root/root ")), "{owners}");
}

#[test]
fn registry_entry_names_the_bundle_with_its_digest() {
    let (_directory, project) = checkout();
    let release = release(&project);
    fs::write(release.directory.join(bundle::file_name(Target::DEFAULT)), "bundle").unwrap();
    let path = server_json::write(&release, &[built(&project)]).unwrap();
    let server: Value = serde_json::from_slice(&fs::read(path).unwrap()).unwrap();
    assert_eq!(server["name"], "io.github.Example/moongate");
    assert!(server["description"].as_str().unwrap().len() <= 100);
    let [bundle, image] = server["packages"].as_array().unwrap().as_slice() else { panic!("{server}") };
    assert_eq!(bundle["fileSha256"], checksums::sha256(b"bundle"));
    assert!(bundle["identifier"].as_str().unwrap().ends_with(".mcpb"));
    assert_eq!(image["identifier"], format!("ghcr.io/example/moongate:{VERSION}"));
}

#[test]
fn checksums_are_those_of_sha256sum() {
    let (_directory, project) = checkout();
    let release = release(&project);
    release.finish("b.tar", b"2").unwrap();
    release.finish("a.tar", b"1").unwrap();
    let path = checksums::write(&release).unwrap();
    let text = fs::read_to_string(&path).unwrap();
    assert!(text.starts_with(&format!("{}  a.tar\n", checksums::sha256(b"1"))), "{text}");
    ProcessRun::new("sha256sum")
        .args(["--check", "--strict", "SHA256SUMS"])
        .current_dir(&release.directory)
        .run()
        .unwrap();
}

#[test]
fn options_name_parts_targets_and_files() {
    let read =
        |line: &str| DistOptions::read(&line.split_whitespace().map(str::to_owned).collect::<Vec<_>>());
    let options = read("deb image --binary moongate").unwrap();
    assert_eq!(options.parts, [DistPart::Deb, DistPart::Image]);
    assert!(options.binary.unwrap().is_absolute());
    assert_eq!(options.targets, [Target::DEFAULT]);
    assert_eq!(
        read("").unwrap().parts.len(),
        DistPart::ALL.len() - 1,
        "running the image isn't part of a release"
    );
    assert!(matches!(read("").unwrap().profile, ProfileSource::Record));
    assert!(matches!(read("binary --no-profile").unwrap().profile, ProfileSource::Unused));
    let options = read("--profile counts.profdata").unwrap();
    assert!(matches!(options.profile, ProfileSource::File(file) if file.is_absolute()));
    for (line, word) in [
        ("rpm", "rpm"),
        ("--profile", "needs a value"),
        ("--target sparc", "sparc"),
        ("--target", "needs a value"),
        ("--repository example.org", "invalid repository"),
        ("--repository https://example.org//x", "invalid repository"),
        (
            "--binary m --target x86_64-unknown-linux-musl --target aarch64-unknown-linux-musl",
            "one `--target`",
        ),
    ] {
        let error = read(line).unwrap_err().to_string();
        assert!(error.contains(word), "{line}: {error}");
    }
}
