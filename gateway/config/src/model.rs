//! The types of a configuration. They are independent of the file and its reader.
//!
//! The catalog, the host and the dispatcher use these types; only the rest of `config` creates them from a file.

mod certificate;
mod description_inputs;
pub(crate) mod diagnostic;
mod grants;
mod http_grant;
pub(crate) mod http_path;
pub(crate) mod http_pattern;
mod limit_key;
mod limits;
mod plugin;
mod public_address;
mod remote_source;
mod requested;
mod reserved_headers;
mod signature_key;
mod source_reference;
mod suggest;
mod web_origin;
mod wider;

pub use certificate::{CertificateContent, CertificateName};
pub use diagnostic::{Diagnostic, Severity};
pub use grants::{DirGrant, DirMode, Grants, StateGrant, StateScope};
pub use http_grant::{
    Credential, HostPattern, HttpGrant, HttpOrigin, HttpScheme, InvalidTargetError, RequestTarget,
    TraceContextGrant,
};
pub use limit_key::LimitKey;
pub use limits::Limits;
pub use moongate_model::policy::{ClientFeature, ItemFilter};
pub use moongate_model::secret::{MatchBoundary, Secret};
pub use plugin::{InstancePolicy, PluginConfig, ReloadPolicy, SourceField};
pub use public_address::{is_public_address, reached_addresses};
pub use remote_source::{RemoteSource, SourceProblem};
pub use requested::{NeedMatch, Requested};
pub use reserved_headers::{ReservedHeader, is_same_header};
pub use signature_key::{InvalidSignerError, SignatureKey, SignatureKeyContent, SignatureRule, SignerId};
pub use source_reference::{
    OciReference, PlainHttpHosts, SourceReference, SourceReferenceError, parse_sha256, parse_web_address,
};
pub use suggest::{dir_grant_entry, grant_line, is_localhost_name, readable_dir_entry, toml_string};

pub use web_origin::{WebOrigin, is_loopback_host, parse_host, parse_host_and_port};

pub(crate) use public_address::{contained_v4_network, is_allowed_address, non_public_addresses};
pub(crate) use suggest::LOCAL_NETWORKS;
