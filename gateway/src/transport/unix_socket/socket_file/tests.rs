//! Sockets that exist already, and who can reach them.

use std::os::unix::net::{UnixListener as BlockingListener, UnixStream};

use tempfile::TempDir;

use super::*;

fn directory() -> (TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("run/mcp.sock");
    (directory, path)
}

fn mode(path: &Path) -> u32 {
    fs::symlink_metadata(path).unwrap().permissions().mode() & 0o777
}

#[tokio::test]
async fn only_its_owner_can_reach_a_socket_until_it_is_removed() {
    let (_directory, path) = directory();
    let (listener, file) = bind(&path).await.unwrap();
    assert_eq!((mode(path.parent().unwrap()), mode(&path)), (0o700, SOCKET_MODE));
    UnixStream::connect(&path).unwrap();
    listener.accept().await.unwrap();
    drop(listener);
    drop(file);
    assert!(!path.exists());
}

#[tokio::test]
async fn replaces_a_socket_that_nobody_listens_on() {
    let (_directory, path) = directory();
    fs::create_dir(path.parent().unwrap()).unwrap();
    drop(BlockingListener::bind(&path).unwrap());
    assert!(path.exists(), "a killed gateway leaves it behind");
    let (_listener, _file) = bind(&path).await.unwrap();
    UnixStream::connect(&path).unwrap();
    assert_eq!(mode(&path), SOCKET_MODE);
}

#[tokio::test]
async fn keeps_sockets_in_use_and_other_files() {
    let (_directory, path) = directory();
    let (listener, file) = bind(&path).await.unwrap();
    let error = bind(&path).await.unwrap_err();
    assert!(matches!(error, UnixSocketError::InUse(_)), "{error}");
    UnixStream::connect(&path).unwrap();
    drop((listener, file));

    fs::write(&path, "a note").unwrap();
    let error = bind(&path).await.unwrap_err();
    assert!(matches!(error, UnixSocketError::OtherFile(_)), "{error}");
    assert_eq!(fs::read_to_string(&path).unwrap(), "a note");
}

#[tokio::test]
async fn a_full_queue_is_in_use_and_does_not_block() {
    let (_directory, path) = directory();
    fs::create_dir(path.parent().unwrap()).unwrap();
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
    let address = SockAddr::unix(&path).unwrap();
    socket.bind(&address).unwrap();
    socket.listen(0).unwrap();
    let mut queued = Vec::new();
    loop {
        let client = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        client.set_nonblocking(true).unwrap();
        if client.connect(&address).is_err() {
            break;
        }
        queued.push(client);
    }
    let error = bind(&path).await.unwrap_err();
    assert!(matches!(error, UnixSocketError::InUse(_)), "{error}");
}

#[tokio::test]
async fn refuses_directories_that_others_can_write() {
    let (_directory, path) = directory();
    let parent = path.parent().unwrap();
    fs::create_dir(parent).unwrap();
    for mode in [0o770, 0o777, 0o1777] {
        fs::set_permissions(parent, fs::Permissions::from_mode(mode)).unwrap();
        let error = bind(&path).await.unwrap_err();
        assert!(matches!(error, UnixSocketError::Directory(_)), "{error}");
        assert!(!path.exists());
    }
    fs::set_permissions(parent, fs::Permissions::from_mode(0o755)).unwrap();
    bind(&path).await.unwrap();
}

#[tokio::test]
async fn a_socket_of_another_gateway_is_not_removed_at_the_end() {
    let (_directory, path) = directory();
    for _ in 0..20 {
        let (listener, file) = bind(&path).await.unwrap();
        fs::remove_file(&path).unwrap();
        // Most file systems use a free inode again at once. That of an open socket isn't free.
        let (_other_listener, _other_file) = bind(&path).await.unwrap();
        drop(file);
        drop(listener);
        UnixStream::connect(&path).unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn waits_for_another_gateway_that_creates_a_socket() {
    let (_directory, path) = directory();
    let parent = PrivateDir::create_own(path.parent().unwrap()).unwrap();
    let lock = parent.try_lock_directory().unwrap().unwrap();
    let error = bind(&path).await.unwrap_err();
    assert!(error.to_string().contains("locked"), "{error}");
    tokio::spawn(async move {
        sleep(LOCK_TIMEOUT / 2).await;
        drop(lock);
    });
    bind(&path).await.unwrap();
}

#[tokio::test]
async fn a_path_that_is_too_long_is_an_error() {
    let (directory, _) = directory();
    let error = bind(&directory.path().join("x".repeat(108))).await.unwrap_err();
    assert!(matches!(error, UnixSocketError::TooLong(_)), "{error}");
}
