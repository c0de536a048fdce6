//! The plugins that are part of the gateway: their components, compressed, and unpacked only when they are used.
//!
//! `build.rs` builds them from the sources in `plugins/`.

use std::io::{self, Read as _};

use flate2::read::GzDecoder;
use moongate_model::builtin_plugin::BuiltinPlugin;
use moongate_model::names::Digest;

/// A component as part of this binary.
struct EmbeddedComponent {
    name: &'static str,
    digest: [u8; 32],
    /// The size of the unpacked component, in bytes.
    size: usize,
    gzip: &'static [u8],
}

static COMPONENTS: &[EmbeddedComponent] = &include!(concat!(env!("OUT_DIR"), "/components.rs"));

/// The component of a built-in plugin.
#[derive(Clone, Copy)]
pub struct BuiltinComponent(&'static EmbeddedComponent);

impl std::fmt::Debug for BuiltinComponent {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_tuple("BuiltinComponent").field(&self.0.name).finish()
    }
}

/// The component of `plugin`.
///
/// # Panics
/// If the build script left it out, which a test rules out.
#[must_use]
pub fn component(plugin: BuiltinPlugin) -> BuiltinComponent {
    let found = COMPONENTS.iter().find(|component| component.name == plugin.name());
    BuiltinComponent(found.expect("the build script embeds every built-in plugin"))
}

impl BuiltinComponent {
    /// The digest of the component.
    #[must_use]
    pub fn digest(self) -> Digest {
        Digest::from(self.0.digest)
    }

    /// The size of the component, in bytes.
    #[must_use]
    pub fn size(self) -> u64 {
        self.0.size as u64
    }

    /// Unpacks the component.
    ///
    /// # Errors
    /// The binary is damaged.
    pub fn unpack(self) -> io::Result<Vec<u8>> {
        let mut bytes = Vec::with_capacity(self.0.size);
        GzDecoder::new(self.0.gzip).read_to_end(&mut bytes)?;
        Ok(bytes)
    }
}

#[cfg(test)]
mod tests;
