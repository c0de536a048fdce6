//! The grant of each open descriptor, which the descriptor itself doesn't contain.
//!
//! All data about a descriptor is removed when it is dropped, because its number is reused.

use std::collections::{HashMap, HashSet};

use moongate_config::protected_paths::is_system_directory;
use moongate_config::{DirGrant, DirMode};
use moongate_model::call::GrantFix;
use wasmtime::Result;
use wasmtime_wasi::p2::FsResult;
use wasmtime_wasi::p2::bindings::filesystem::types::ErrorCode;

use super::error::LastStreamError;
use super::quota::OpenFilePermit;
use super::{FilesCtxView, FilesResult, answer};
use crate::wasi::grant_audit::MissingGrant;

/// Data about the descriptors of one instance, by their handles.
#[derive(Debug, Default)]
pub(super) struct DescriptorGrants {
    /// The index of the grant in `allow.dirs`.
    grants: HashMap<u32, usize>,
    /// The granted directories themselves, as returned to the guest.
    preopens: HashSet<u32>,
    /// The permits of all other descriptors.
    permits: HashMap<u32, OpenFilePermit>,
    /// The last stream errors, by the descriptors of their files.
    stream_errors: HashMap<u32, LastStreamError>,
}

impl DescriptorGrants {
    pub(super) fn preopens(&self) -> usize {
        self.preopens.len()
    }

    /// Adds a granted directory. `grant` is `None` if its grant isn't known.
    pub(super) fn add_preopen(&mut self, descriptor: u32, grant: Option<usize>) {
        self.preopens.insert(descriptor);
        self.grants.extend(grant.map(|grant| (descriptor, grant)));
    }

    /// Counts a descriptor as open while the guest has it.
    pub(super) fn hold(&mut self, descriptor: u32, permit: OpenFilePermit) {
        self.permits.insert(descriptor, permit);
    }

    /// The permit of a descriptor, for a stream that keeps its file open. `None` for a granted directory.
    pub(super) fn permit(&self, descriptor: u32) -> Option<OpenFilePermit> {
        self.permits.get(&descriptor).cloned()
    }

    /// The last error of the descriptor's streams.
    pub(super) fn last_stream_error(&mut self, descriptor: u32) -> LastStreamError {
        self.stream_errors.entry(descriptor).or_default().clone()
    }

    /// Removes a descriptor. Returns its permit, to be dropped after the file.
    pub(super) fn remove(&mut self, descriptor: u32) -> Option<OpenFilePermit> {
        self.grants.remove(&descriptor);
        self.preopens.remove(&descriptor);
        self.stream_errors.remove(&descriptor);
        self.permits.remove(&descriptor)
    }
}

impl FilesCtxView<'_> {
    /// Notes that the guest looked up a name in a directory, even if the name didn't exist.
    pub(super) fn looked_up(&mut self, directory: u32) {
        self.state.lookups.in_granted |= self.state.descriptor_grants.grants.contains_key(&directory);
    }

    /// Notes that `opened` was opened in `parent`, and that the grant was used.
    pub(super) fn opened(&mut self, parent: u32, opened: u32) {
        if let Some(grant) = self.state.descriptor_grants.grants.get(&parent).copied() {
            self.state.descriptor_grants.grants.insert(opened, grant);
            self.note_used(parent);
        }
    }

    fn grant(&self, descriptor: u32) -> Option<&DirGrant> {
        let index = self.state.descriptor_grants.grants.get(&descriptor)?;
        self.state.config.allow.dirs.get(*index)
    }

    fn note_used(&self, descriptor: u32) {
        if let Some(grant) = self.grant(descriptor) {
            self.state.audit.note_used(|| format!("dirs {} ({})", grant.guest_path, grant.mode.as_str()));
        }
    }

    /// Returns the result of a change, and reports a change that was refused because the directory is granted
    /// read-only. WASI's own checks refuse it.
    pub(super) fn changed<T>(&mut self, descriptors: &[u32], result: FsResult<T>) -> Result<FilesResult<T>> {
        let (answer,) = answer(result)?;
        descriptors.iter().for_each(|descriptor| self.looked_up(*descriptor));
        if answer.is_ok() {
            descriptors.iter().for_each(|descriptor| self.note_used(*descriptor));
        }
        if matches!(&answer, Err(ErrorCode::NotPermitted)) {
            let grants = descriptors.iter().filter_map(|descriptor| self.grant(*descriptor));
            for grant in grants.filter(|grant| grant.mode == DirMode::ReadOnly) {
                let DirGrant { guest_path: guest, host_path, unresolved_host_path: named, .. } = grant;
                let is_system = [host_path, named].into_iter().any(|path| is_system_directory(path));
                let host = named.to_string_lossy().into_owned();
                self.state.audit.report_missing(&MissingGrant {
                    wanted: format!("write access to `{guest}`"),
                    fix: (!is_system).then(|| GrantFix::ChangeDirectory { host, guest: guest.clone() }),
                });
            }
        }
        Ok((answer,))
    }
}
