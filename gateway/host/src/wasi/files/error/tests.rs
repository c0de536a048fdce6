//! Codes of system errors.

use std::io;

use rustix::io::Errno;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::error_code;

#[test]
fn every_error_of_files_has_its_code() {
    for (errno, code) in [
        (Errno::ACCESS, ErrorCode::Access),
        (Errno::BUSY, ErrorCode::Busy),
        (Errno::DQUOT, ErrorCode::Quota),
        (Errno::EXIST, ErrorCode::Exist),
        (Errno::FBIG, ErrorCode::FileTooLarge),
        (Errno::INVAL, ErrorCode::Invalid),
        (Errno::IO, ErrorCode::Io),
        (Errno::ISDIR, ErrorCode::IsDirectory),
        (Errno::LOOP, ErrorCode::Loop),
        (Errno::MFILE, ErrorCode::Quota),
        (Errno::MLINK, ErrorCode::TooManyLinks),
        (Errno::NAMETOOLONG, ErrorCode::NameTooLong),
        (Errno::NFILE, ErrorCode::Quota),
        (Errno::NODEV, ErrorCode::NoDevice),
        (Errno::NOENT, ErrorCode::NoEntry),
        (Errno::NOLCK, ErrorCode::NoLock),
        (Errno::NOMEM, ErrorCode::InsufficientMemory),
        (Errno::NOSPC, ErrorCode::InsufficientSpace),
        (Errno::NOTDIR, ErrorCode::NotDirectory),
        (Errno::NOTEMPTY, ErrorCode::NotEmpty),
        (Errno::NOTSUP, ErrorCode::Unsupported),
        (Errno::NXIO, ErrorCode::NoSuchDevice),
        (Errno::PERM, ErrorCode::NotPermitted),
        (Errno::ROFS, ErrorCode::ReadOnly),
        (Errno::TXTBSY, ErrorCode::TextFileBusy),
        (Errno::XDEV, ErrorCode::CrossDevice),
    ] {
        assert_eq!(error_code(&io::Error::from(errno)), code, "{errno}");
    }
}
