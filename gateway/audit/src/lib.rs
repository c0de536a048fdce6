//! The audit log: one JSON object per line for each decision and its outcome, in a hash chain.
//!
//! - `record`: what a line says ([`AuditRecord`]).
//! - `chain`: how a line depends on the line before it and on the key.
//! - `key`: the key, and its file.
//! - `log_file`: the files: opening, locking, repairing and rotating them.
//! - `background_sync`: writes a growing file to the disk.
//! - `lock_holder`: the process that holds the lock.
//! - `file_end`: the last valid line of a file, and what a crash has left after it.
//! - `audit_log`: the bounded queue and the thread that writes ([`AuditLog`]).
//! - `verify`: checks files ([`verify()`]).
//!
//! The crate knows neither MCP nor the configuration. Of `moongate-model`, it uses callers, budgets and texts.

mod audit_log;
mod background_sync;
mod chain;
mod file_end;
mod key;
mod lock_holder;
mod log_file;
mod record;
mod verify;

pub use audit_log::{AuditLog, AuditStatus, QueueRoom, WhenFull};
pub use chain::{ChainHash, ChainHead, InvalidHashError};
pub use key::{ArgumentsHash, AuditKey, AuditKeyError};
pub use lock_holder::LockHolder;
pub use log_file::{AuditFileError, AuditFiles};
pub use record::{
    AuditClient, AuditEvent, AuditOutcome, AuditPrincipal, AuditRecord, AuditedArguments, PrincipalKind,
    short,
};
pub use verify::{LogFiles, Verification, VerificationError, verify};
