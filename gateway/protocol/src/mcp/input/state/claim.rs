//! The request that a state is bound to: plugin and version, caller, method and parameters (2026-07-28,
//! basic/patterns/mrtr: security).

use sha2::{Digest as _, Sha256};

use crate::catalog::CatalogPlugin;
use crate::names::{Digest, Principal};
use crate::tape::{JsonTape, TapeContainer, TapeNode, TextTooLongError};

use super::super::super::Params;

/// Members of the parameters that change between rounds.
const CHANGING_MEMBERS: [&str; 3] = ["_meta", "inputResponses", "requestState"];

/// The request that a state is bound to.
#[derive(Debug)]
pub(in crate::mcp::input) struct StateClaim {
    pub(super) plugin: String,
    pub(super) version: String,
    pub(super) caller: String,
    pub(super) request: String,
}

impl StateClaim {
    /// A fixed claim of the local caller.
    #[cfg(any(test, feature = "fuzz"))]
    pub(in crate::mcp::input) fn fixed(plugin: &str, version: Digest) -> Self {
        let [plugin, caller, request] = [plugin, "local", "r"].map(str::to_owned);
        Self { plugin, version: version.to_string(), caller, request }
    }

    /// The claim of a request.
    ///
    /// # Errors
    /// The parameters are too long, so a state could be used with others.
    pub(in crate::mcp::input) fn new(
        catalog_plugin: &CatalogPlugin,
        principal: &Principal,
        method: &str,
        params: &Params,
    ) -> Result<Self, TextTooLongError> {
        let mut digest = Sha256::new();
        write_string(&mut digest, method);
        let tape = JsonTape::read(params.text())?;
        let members = tape.root().container().into_iter().flat_map(TapeContainer::sorted_members);
        for (key, value) in members {
            let key = key.string().unwrap_or_default();
            if !CHANGING_MEMBERS.contains(&&*key) {
                write_string(&mut digest, &key);
                write_canonical(&mut digest, value);
            }
        }
        let caller = match principal {
            Principal::Local => "local".to_owned(),
            Principal::Anonymous => "anonymous".to_owned(),
            Principal::Operator => "operator".to_owned(),
            Principal::Named(name) => format!("named {name}"),
            Principal::Certificate(name) => format!("certificate {name}"),
            Principal::User(user) => format!("user {}", user.uid()),
            // An issuer contains no space.
            Principal::Subject(subject) => format!("subject {} {}", subject.issuer(), subject.subject()),
        };
        let plugin = catalog_plugin.id().to_string();
        let version = catalog_plugin.plugin().digest().to_string();
        let request = Digest::from(<[u8; 32]>::from(digest.finalize())).to_string();
        Ok(Self { plugin, version, caller, request })
    }
}

/// Hashes a canonical form of a value: equal values have equal text, whatever the order of their members. The recursion
/// is as deep as the value, whose depth was checked.
fn write_canonical(out: &mut Sha256, value: TapeNode<'_>) {
    match value.container() {
        Some(object) if object.is_object() => {
            out.update(b"{");
            for (key, value) in object.sorted_members() {
                write_string(out, &key.string().unwrap_or_default());
                write_canonical(out, value);
            }
            out.update(b"}");
        }
        Some(array) => {
            out.update(b"[");
            array.elements().for_each(|item| write_canonical(out, item));
            out.update(b"]");
        }
        None => match (value.string(), value.number()) {
            (Some(text), _) => write_string(out, &text),
            (None, Some(number)) => write_token(out, number.to_string().as_bytes()),
            (None, None) => write_token(out, value.word().as_bytes()),
        },
    }
}

/// Hashes a string as JSON writes it.
fn write_string(out: &mut Sha256, text: &str) {
    write_token(out, serde_json::Value::from(text).to_string().as_bytes());
}

fn write_token(out: &mut Sha256, token: &[u8]) {
    out.update(token);
    out.update(b",");
}
