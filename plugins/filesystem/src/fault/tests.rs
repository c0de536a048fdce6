//! Messages of errors.

use super::FsError;

#[test]
fn system_errors_have_the_words_of_the_official_server() {
    for (code, message) in [
        (libc::ENOSPC, "ENOSPC: no space left on device, write"),
        (libc::EROFS, "EROFS: read-only file system, write"),
        (libc::EXDEV, "EXDEV: cross-device link not permitted, write"),
        (libc::EDQUOT, "EDQUOT: disk quota exceeded, write"),
        (libc::ELOOP, "ELOOP: too many symbolic links encountered, write"),
    ] {
        assert_eq!(FsError::of_code(code, "write", "").to_string(), message);
    }
    assert_eq!(
        FsError::of_code(libc::ENOTDIR, "open", "/a/b").to_string(),
        "ENOTDIR: not a directory, open '/a/b'"
    );
}
