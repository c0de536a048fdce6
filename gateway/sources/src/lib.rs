//! Plugins from addresses: downloads components from web servers and OCI registries, verifies their signatures, and
//! keeps them in a store that is addressed by content.
//!
//! A running gateway doesn't use this crate: it reads only the lock file and the store. The commands `fetch`, `update`,
//! `add` and `push` use it.
//!
//! - [`fetcher`]: the entry, from an address to an entry of the lock file.
//! - [`interfaces`]: the imports and exports of a component, read without running it.
//! - [`lock_update`]: writes the lock file.
//! - [`provenance`]: what a component says about its origin.
//! - [`mod@publish`]: publishes a component.
//! - [`store`]: the downloaded components.
//! - `source_client`: requests with limits on size, time and redirects.
//! - `registry`: requests to OCI registries, and logging in to them.
//! - `credentials`: the credentials of container tools.
//! - `manifest`: manifests of Wasm artifacts.
//! - `signature`: minisign and cosign signatures.

pub mod fetcher;
pub mod interfaces;
pub mod lock_update;
pub mod provenance;
pub mod publish;
pub mod store;
mod credentials;
mod error;
mod manifest;
mod registry;
mod signature;
mod source_client;

pub use error::SourceError;
pub use fetcher::{FetchRequest, SourceFetcher, SourceSettings};
pub use interfaces::read_interfaces;
pub use lock_update::{edit_lock, update_lock};
#[cfg(any(test, feature = "fuzz"))]
pub use manifest::fuzz_artifact;
pub use provenance::{AuditedPackage, Provenance};
pub use publish::{PublishRequest, publish};
#[cfg(any(test, feature = "fuzz"))]
pub use signature::fuzz_cosign;
pub use store::ComponentStore;
