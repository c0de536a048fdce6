//! The types of a configuration. They are independent of the file and its reader.
//!
//! The catalog, the host and the dispatcher use these types; only the rest of `config` creates them from a file.

pub(crate) mod diagnostic;
mod grants;
mod http_grant;
pub(crate) mod http_path;
pub(crate) mod http_pattern;
mod limit_key;
mod limits;
mod plugin;
mod public_address;
mod requested;
mod reserved_headers;
mod suggest;
mod wider;

pub use diagnostic::{Problem, Severity};
pub use grants::{DirGrant, DirMode, Grants, StateGrant};
pub use http_grant::{Credential, HostPattern, HttpGrant, HttpOrigin, HttpScheme, NoTarget, Target};
pub use limit_key::LimitKey;
pub use limits::Limits;
pub use moongate_model::policy::{ClientFeature, ToolFilter};
pub use moongate_model::secret::{Secret, Standing};
pub use plugin::{Instances, PluginConfig, Reload, Spot};
pub use public_address::is_public;
pub use requested::{Asked, Match};
pub use reserved_headers::{Reserved, is_same_header};
pub use suggest::{directory_item, directory_to_read, grant_line, is_this_machine, literal};

pub(crate) use suggest::LOCAL_NETWORKS;
