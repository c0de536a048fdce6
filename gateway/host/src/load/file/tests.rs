//! Files that are written while they are read, and paths without a file.

use std::collections::VecDeque;
use std::os::unix::fs::symlink;
use std::path::PathBuf;
use std::sync::Arc;

use moongate_model::names::PluginId;
use tempfile::TempDir;

use super::*;

const LATER: Duration = Duration::from_secs(1_000_000);

/// A read of the file with this inode and these contents, written at `second`.
fn read_at(inode: u64, content: &[u8], second: i64) -> ReadAttempt {
    let stamp = FileStamp {
        device: 1,
        inode,
        length: content.len() as u64,
        modified: (second, 0),
        changed: (second, 0),
    };
    let candidate = ComponentFile { bytes: content.to_vec(), digest: Digest::of(content), settled: None };
    ReadAttempt { candidate, before: stamp, after: stamp, started: SystemTime::UNIX_EPOCH + LATER }
}

fn just_written(inode: u64, content: &[u8]) -> ReadAttempt {
    read_at(inode, content, i64::try_from(LATER.as_secs()).unwrap())
}

fn absent() -> LoadError {
    LoadError::Read {
        path: "x.wasm".into(),
        why: ReadFailure::NotFound { link: None, directory: None, near: None },
    }
}

/// The result of these reads, with their number and duration. The last one is repeated for ever.
async fn settle(reads: Vec<Result<ReadAttempt, LoadError>>) -> (Result<Vec<u8>, String>, usize, Duration) {
    let started = Instant::now();
    let mut count = 0;
    let mut reads = VecDeque::from(reads);
    let next = || {
        count += 1;
        let read = if reads.len() > 1 {
            reads.pop_front().unwrap()
        } else {
            match &reads[0] {
                Ok(ReadAttempt { candidate, before, after, started }) => {
                    let ComponentFile { bytes, digest, settled: _ } = candidate;
                    let candidate = ComponentFile { bytes: bytes.clone(), digest: *digest, settled: None };
                    Ok(ReadAttempt { candidate, before: *before, after: *after, started: *started })
                }
                Err(_) => Err(absent()),
            }
        };
        std::future::ready(read)
    };
    let candidate = read_settled(Path::new("x.wasm"), next).await;
    let bytes = candidate.map(|candidate| candidate.bytes).map_err(|error| error.to_string());
    (bytes, count, started.elapsed())
}

#[tokio::test(start_paused = true)]
async fn reads_a_settled_file_once() {
    let long_ago = i64::try_from(LATER.as_secs()).unwrap() - 3;
    let (bytes, count, duration) = settle(vec![Ok(read_at(1, b"whole", long_ago))]).await;
    assert_eq!((bytes, count, duration), (Ok(b"whole".to_vec()), 1, Duration::ZERO));
    // A clock that was set back puts the file's times in the future, so they prove nothing.
    let ahead = i64::try_from(LATER.as_secs()).unwrap() + 9;
    assert_eq!(settle(vec![Ok(read_at(1, b"whole", ahead))]).await.1, 2);
    // An old time isn't enough if the file changed during the read.
    let moved =
        ReadAttempt { after: read_at(2, b"whole", long_ago).before, ..read_at(1, b"whole", long_ago) };
    assert!(settle(vec![Ok(moved), Ok(read_at(2, b"whole", long_ago))]).await.1 > 1);
}

#[tokio::test(start_paused = true)]
async fn accepts_a_new_file_when_two_reads_agree() {
    let (bytes, count, duration) = settle(vec![Ok(just_written(1, b"whole"))]).await;
    assert_eq!((bytes, count, duration), (Ok(b"whole".to_vec()), 2, FIRST_PAUSE));
    let growing = vec![Ok(just_written(1, b"")), Ok(just_written(1, b"who")), Ok(just_written(1, b"whole"))];
    let (bytes, count, _) = settle(growing).await;
    assert_eq!((bytes, count), (Ok(b"whole".to_vec()), 4));
    // The same bytes in another file: it was replaced in the meantime, and can be incomplete as well.
    let replaced = vec![Ok(just_written(1, b"whole")), Ok(just_written(2, b"whole"))];
    assert_eq!(settle(replaced).await.1, 3);
    // The same file and times, but other bytes.
    let (bytes, count, _) = settle(vec![Ok(just_written(1, b"aaaaa")), Ok(just_written(1, b"bbbbb"))]).await;
    assert_eq!((bytes, count), (Ok(b"bbbbb".to_vec()), 3));
}

#[tokio::test(start_paused = true)]
async fn waits_for_a_file_that_is_removed_and_written_again() {
    let (bytes, count, _) =
        settle(vec![Ok(just_written(1, b"old")), Err(absent()), Ok(just_written(2, b"new"))]).await;
    assert_eq!((bytes, count), (Ok(b"new".to_vec()), 4));
    let (bytes, _, duration) = settle(vec![Ok(just_written(1, b"old")), Err(absent())]).await;
    assert_eq!(bytes.unwrap_err(), "`x.wasm` doesn't exist");
    assert!(duration <= SETTLE_TIMEOUT + MAX_PAUSE, "{duration:?}");
    // A file that never existed isn't waited for.
    assert_eq!(settle(vec![Err(absent())]).await.1, 1);
}

#[tokio::test(start_paused = true)]
async fn gives_up_on_a_file_that_keeps_changing() {
    let writing = (0..1000).map(|at| Ok(just_written(1, &vec![0; at]))).collect();
    let (bytes, count, duration) = settle(writing).await;
    assert_eq!(bytes.unwrap_err(), "`x.wasm` is still being written");
    assert!(
        duration >= SETTLE_TIMEOUT && duration <= SETTLE_TIMEOUT + MAX_PAUSE && count < 30,
        "{duration:?} {count}"
    );
}

/// The result of reading this path: the bytes, or the error and its hint.
async fn read_path(path: PathBuf) -> Result<Vec<u8>, (String, Option<String>)> {
    let config = PluginConfig::ungranted(PluginId::new("guest").unwrap(), path);
    let candidate = read(&config, &BlockingLimiter::new(1)).await;
    candidate
        .map(|candidate| candidate.bytes)
        .map_err(|error| (error.to_string(), error.hint(crate::PathOrigin::Config(&config))))
}

#[tokio::test]
async fn follows_symlinks() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    fs::create_dir(at("one")).unwrap();
    fs::write(at("one/x.wasm"), "first").unwrap();
    symlink("one", at("data")).unwrap();
    symlink("data/x.wasm", at("x.wasm")).unwrap();
    assert_eq!(read_path(at("x.wasm")).await.unwrap(), b"first");
}

#[tokio::test]
async fn names_the_path_and_the_cause_of_a_missing_file() {
    let dir = TempDir::new().unwrap();
    let at = |name: &str| dir.path().join(name);
    let shown = |name: &str| at(name).display().to_string();
    fs::create_dir(at("folder")).unwrap();
    symlink("nowhere.wasm", at("link.wasm")).unwrap();
    let pipe = rustix::fs::FileType::Fifo;
    rustix::fs::mknodat(rustix::fs::CWD, at("pipe"), pipe, rustix::fs::Mode::RUSR, 0).unwrap();
    for (name, said, hint) in [
        ("gone.wasm", format!("`{}` doesn't exist", shown("gone.wasm")), "build or copy it there"),
        (
            "no/further/x.wasm",
            format!(
                "`{}` doesn't exist: there is no directory `{}`",
                shown("no/further/x.wasm"),
                shown("no")
            ),
            "relative paths start in the directory of `gateway.toml`",
        ),
        (
            "link.wasm",
            format!(
                "`{}` doesn't exist: it is a symlink to `nowhere.wasm`, which doesn't exist",
                shown("link.wasm")
            ),
            "fix the symlink",
        ),
        (
            "a\u{202e}b\u{1b}.wasm",
            format!("`{}` doesn't exist", shown("a\\u{202e}b\\u{1b}.wasm")),
            "build or copy it there",
        ),
        ("folder", format!("`{}` is a directory", shown("folder")), "the component's `.wasm` file"),
        ("pipe", format!("`{}` is not a regular file", shown("pipe")), "the component's `.wasm` file"),
    ] {
        let (message, told) = read_path(at(name)).await.unwrap_err();
        assert_eq!(message, said);
        assert!(told.as_deref().is_some_and(|told| told.contains(hint)), "{name}: {told:?}");
    }
}

#[tokio::test]
async fn searches_for_a_similar_path_once() {
    let dir = TempDir::new().unwrap();
    fs::write(dir.path().join("time.wasm"), "content").unwrap();
    let slip = dir.path().join("tme.wasm");
    let error = read_once(&slip, ByteSize::kib(1)).err();
    let Some(LoadError::Read { why: ReadFailure::NotFound { near, .. }, .. }) = error else {
        panic!("{error:?}")
    };
    assert_eq!(near, None, "reads are repeated, so they don't search");
    let (_, hint) = read_path(slip).await.unwrap_err();
    assert_eq!(hint, Some(format!("did you mean `{}`?", dir.path().join("time.wasm").display())));
}

#[tokio::test]
async fn names_usual_reasons_for_a_missing_cargo_artifact() {
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
async fn refuses_a_wrong_digest_and_size_when_reading() {
    let dir = TempDir::new().unwrap();
    let path = dir.path().join("x.wasm");
    fs::write(&path, "content").unwrap();
    let config = PluginConfig::ungranted(PluginId::new("guest").unwrap(), path);
    let pinned = Arc::new(PluginConfig { sha256: Some(Digest::of(b"content")), ..config.clone() });
    assert_eq!(read(&pinned, &BlockingLimiter::new(1)).await.unwrap().digest(), &Digest::of(b"content"));
    let other = PluginConfig { sha256: Some(Digest::of(b"another")), ..config.clone() };
    assert!(matches!(read(&other, &BlockingLimiter::new(1)).await, Err(LoadError::DigestMismatch { .. })));
    let mut small = config;
    small.limits.component = ByteSize::b(6);
    assert!(matches!(read(&small, &BlockingLimiter::new(1)).await, Err(LoadError::TooLarge { .. })));
}
