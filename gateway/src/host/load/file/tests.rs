//! Files that are written while they are looked at, and paths where there is no file.

use std::collections::VecDeque;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use moongate_core::names::PluginId;
use tempfile::TempDir;

use super::*;

const LATER: Duration = Duration::from_secs(1_000_000);

/// The file with this inode and content, written at `second`.
fn seen(inode: u64, content: &[u8], second: i64) -> Look {
    let stamp =
        Stamp { device: 1, inode, length: content.len() as u64, modified: (second, 0), changed: (second, 0) };
    let candidate = Candidate { bytes: content.to_vec(), digest: Digest::of(content) };
    Look { candidate, before: stamp, after: stamp, at: SystemTime::UNIX_EPOCH + LATER }
}

fn fresh(inode: u64, content: &[u8]) -> Look {
    seen(inode, content, i64::try_from(LATER.as_secs()).unwrap())
}

fn absent() -> LoadError {
    LoadError::Read {
        path: "x.wasm".into(),
        why: Unreadable::Absent { link: None, folder: None, near: None },
    }
}

/// What these looks come to, how many were taken, and how long it took. The last is repeated for ever.
async fn looked(looks: Vec<Result<Look, LoadError>>) -> (Result<Vec<u8>, String>, usize, Duration) {
    let (started, mut taken, mut looks) = (Instant::now(), 0, VecDeque::from(looks));
    let look = || {
        taken += 1;
        let look = if looks.len() > 1 {
            looks.pop_front().unwrap()
        } else {
            match &looks[0] {
                Ok(Look { candidate, before, after, at }) => {
                    let Candidate { bytes, digest } = candidate;
                    let candidate = Candidate { bytes: bytes.clone(), digest: *digest };
                    Ok(Look { candidate, before: *before, after: *after, at: *at })
                }
                Err(_) => Err(absent()),
            }
        };
        std::future::ready(look)
    };
    let candidate = settled(Path::new("x.wasm"), look).await;
    let bytes = candidate.map(|candidate| candidate.bytes).map_err(|error| error.to_string());
    (bytes, taken, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn a_file_at_rest_is_looked_at_once() {
    let long_ago = i64::try_from(LATER.as_secs()).unwrap() - 3;
    let (bytes, taken, took) = looked(vec![Ok(seen(1, b"whole", long_ago))]).await;
    assert_eq!((bytes, taken, took), (Ok(b"whole".to_vec()), 1, Duration::ZERO));
    // A clock that was set back makes the file's times lie ahead: they say nothing.
    let ahead = i64::try_from(LATER.as_secs()).unwrap() + 9;
    assert_eq!(looked(vec![Ok(seen(1, b"whole", ahead))]).await.1, 2);
    // An old time alone doesn't count where something changed under the reader's hands.
    let moved = Look { after: seen(2, b"whole", long_ago).before, ..seen(1, b"whole", long_ago) };
    assert!(looked(vec![Ok(moved), Ok(seen(2, b"whole", long_ago))]).await.1 > 1);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_was_just_written_is_taken_when_two_looks_agree() {
    let (bytes, taken, took) = looked(vec![Ok(fresh(1, b"whole"))]).await;
    assert_eq!((bytes, taken, took), (Ok(b"whole".to_vec()), 2, PAUSE));
    let growing = vec![Ok(fresh(1, b"")), Ok(fresh(1, b"who")), Ok(fresh(1, b"whole"))];
    let (bytes, taken, _) = looked(growing).await;
    assert_eq!((bytes, taken), (Ok(b"whole".to_vec()), 4));
    // The same bytes in another file: it was replaced in between, and perhaps isn't whole either.
    let replaced = vec![Ok(fresh(1, b"whole")), Ok(fresh(2, b"whole"))];
    assert_eq!(looked(replaced).await.1, 3);
    // The same file and times, but other bytes.
    let (bytes, taken, _) = looked(vec![Ok(fresh(1, b"aaaaa")), Ok(fresh(1, b"bbbbb"))]).await;
    assert_eq!((bytes, taken), (Ok(b"bbbbb".to_vec()), 3));
}

#[tokio::test(start_paused = true)]
async fn a_file_that_is_replaced_by_removing_it_first_is_waited_for() {
    let (bytes, taken, _) = looked(vec![Ok(fresh(1, b"old")), Err(absent()), Ok(fresh(2, b"new"))]).await;
    assert_eq!((bytes, taken), (Ok(b"new".to_vec()), 4));
    let (bytes, _, took) = looked(vec![Ok(fresh(1, b"old")), Err(absent())]).await;
    assert_eq!(bytes.unwrap_err(), "`x.wasm` isn't there");
    assert!(took <= PATIENCE + LONGEST_PAUSE, "{took:?}");
    // One that wasn't there in the first place isn't.
    assert_eq!(looked(vec![Err(absent())]).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn a_file_that_never_rests_is_given_up() {
    let writing = (0..1000).map(|at| Ok(fresh(1, &vec![0; at]))).collect();
    let (bytes, taken, took) = looked(writing).await;
    assert_eq!(bytes.unwrap_err(), "`x.wasm` is still being written");
    assert!(took >= PATIENCE && took <= PATIENCE + LONGEST_PAUSE && taken < 30, "{took:?} {taken}");
}

/// What reading this path comes to.
async fn read_path(path: PathBuf) -> Result<Vec<u8>, (String, Option<String>)> {
    let config = PluginConfig::bare(PluginId::new("guest").unwrap(), path);
    let candidate = read(&config, &Lane::new(1)).await;
    candidate
        .map(|candidate| candidate.bytes)
        .map_err(|error| (error.to_string(), error.hint(crate::host::Named::InTable(&config))))
}

#[tokio::test]
async fn links_are_followed() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("one")).unwrap();
    fs::write(at("one/x.wasm"), "first").unwrap();
    symlink("one", at("data")).unwrap();
    symlink("data/x.wasm", at("x.wasm")).unwrap();
    assert_eq!(read_path(at("x.wasm")).await.unwrap(), b"first");
}

#[tokio::test]
async fn where_there_is_no_file_the_path_and_the_cause_are_named() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    fs::create_dir(at("folder")).unwrap();
    symlink("nowhere.wasm", at("link.wasm")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    for (name, said, hint) in [
        ("gone.wasm", format!("`{}` isn't there", shown("gone.wasm")), "build or copy it there"),
        (
            "no/further/x.wasm",
            format!("`{}` isn't there: there is no directory `{}`", shown("no/further/x.wasm"), shown("no")),
            "a relative `source` starts at the directory of `gateway.toml`",
        ),
        (
            "link.wasm",
            format!(
                "`{}` isn't there: it is a link to `nowhere.wasm`, which isn't there",
                shown("link.wasm")
            ),
            "mend the link",
        ),
        (
            "a\u{202e}b\u{1b}.wasm",
            format!("`{}` isn't there", shown("a\\u{202e}b\\u{1b}.wasm")),
            "build or copy it there",
        ),
        ("folder", format!("`{}` is a directory", shown("folder")), "the component's `.wasm` file"),
        ("pipe", format!("`{}` is no regular file", shown("pipe")), "the component's `.wasm` file"),
    ] {
        let (message, told) = read_path(at(name)).await.unwrap_err();
        assert_eq!(message, said);
        assert!(told.as_deref().is_some_and(|told| told.contains(hint)), "{name}: {told:?}");
    }
}

#[tokio::test]
async fn what_may_have_been_meant_is_looked_for_when_all_looks_are_over() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("time.wasm"), "content").unwrap();
    let slip = dir.path().join("tme.wasm");
    let looked = look(&slip, ByteSize::kib(1)).err();
    let Some(LoadError::Read { why: Unreadable::Absent { near, .. }, .. }) = looked else {
        panic!("{looked:?}")
    };
    assert_eq!(near, None, "a look is repeated for as long as nothing is there");
    let (_, hint) = read_path(slip).await.unwrap_err();
    assert_eq!(hint, Some(format!("did you mean `{}`?", dir.path().join("time.wasm").display())));
}

#[tokio::test]
async fn where_cargo_would_have_written_the_file_its_pitfalls_are_named() {
    let dir = TempDir::new().unwrap();
    let hint = |at: &str| {
        let path = dir.path().join(at);
        async { read_path(path).await.unwrap_err().1.unwrap() }
    };
    let release = hint("target/wasm32-wasip2/release/my_plugin.wasm").await;
    assert!(release.contains("`cargo build --target wasm32-wasip2 --release`"), "{release}");
    assert!(release.contains("`crate-type = [\"cdylib\"]`"), "{release}");
    assert!(release.contains("`CARGO_TARGET_DIR` or `build.target-dir`"), "{release}");
    let debug = hint("target/wasm32-wasip2/debug/my_plugin.wasm").await;
    assert!(debug.contains("`cargo build --target wasm32-wasip2`"), "{debug}");
    let own = hint("target/wasm32-wasip2/small/my_plugin.wasm").await;
    assert!(own.contains("`cargo build --target wasm32-wasip2 --profile small`"), "{own}");
    assert!(!hint("target/other/x.wasm").await.contains("cargo"));
}

#[tokio::test]
async fn what_the_table_doesnt_accept_is_refused_when_it_is_read() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x.wasm");
    fs::write(&path, "content").unwrap();
    let config = PluginConfig::bare(PluginId::new("guest").unwrap(), path);
    let pinned = Arc::new(PluginConfig { sha256: Some(Digest::of(b"content")), ..config.clone() });
    assert_eq!(read(&pinned, &Lane::new(1)).await.unwrap().digest(), &Digest::of(b"content"));
    let other = PluginConfig { sha256: Some(Digest::of(b"another")), ..config.clone() };
    assert!(matches!(read(&other, &Lane::new(1)).await, Err(LoadError::Digest { .. })));
    let mut small = config;
    small.limits.component = ByteSize::b(6);
    assert!(matches!(read(&small, &Lane::new(1)).await, Err(LoadError::TooBig { .. })));
}
