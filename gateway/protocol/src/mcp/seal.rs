//! Sealed text: data that a client carries from one request to the next for the gateway, and can neither read nor
//! change.
//!
//! A cursor is one example (2025-11-25, server/utilities/pagination: opaque, and an invalid one is rejected). The key
//! lives as long as the process, or is shared by gateways that share clients. The data is encrypted and authenticated
//! (XChaCha20-Poly1305 with a random nonce) together with its purpose, so that nothing sealed for one purpose opens for
//! another.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use chacha20poly1305::aead::{Aead, KeyInit, Payload};
use chacha20poly1305::{XChaCha20Poly1305, XNonce};
use sha2::{Digest as _, Sha256};

/// The length of a nonce, in bytes: long enough that random ones don't repeat.
const NONCE_BYTES: usize = 24;

/// The domain of the hash of operators' keys, so that the same secret results in a different key if it is used
/// elsewhere.
const KEY_HASH_DOMAIN: &[u8] = b"moongate sealing key 1\0";

/// A key that seals text.
#[derive(Clone)]
pub struct SealingKey(XChaCha20Poly1305);

/// The system provided no random bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("no random bytes available")]
pub struct RandomnessError;

impl SealingKey {
    /// A key that only this process has.
    ///
    /// # Errors
    /// The system provided no random bytes.
    pub fn random() -> Result<Self, RandomnessError> {
        let mut key = [0; 32];
        getrandom::fill(&mut key).map_err(|_| RandomnessError)?;
        Ok(Self(XChaCha20Poly1305::new(&key.into())))
    }

    /// The key of every gateway with the same `secret`, which must be unguessable.
    #[must_use]
    pub fn shared(secret: &str) -> Self {
        let key = Sha256::new().chain_update(KEY_HASH_DOMAIN).chain_update(secret).finalize();
        Self(XChaCha20Poly1305::new(&key))
    }

    /// Seals `text`. It opens for the same `purpose` only.
    pub(super) fn seal(&self, purpose: &str, text: &[u8]) -> Result<String, RandomnessError> {
        let mut sealed = vec![0; NONCE_BYTES];
        getrandom::fill(&mut sealed).map_err(|_| RandomnessError)?;
        let nonce = nonce(&sealed).expect("it is as long as a nonce");
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        sealed.extend(self.0.encrypt(&nonce, payload).expect("only gigabytes can't be sealed"));
        Ok(URL_SAFE_NO_PAD.encode(sealed))
    }

    /// The text that was sealed for `purpose`. `None` if `sealed` isn't valid.
    pub(super) fn open(&self, purpose: &str, sealed: &str) -> Option<Vec<u8>> {
        let sealed = URL_SAFE_NO_PAD.decode(sealed).ok()?;
        let (nonce_bytes, text) = sealed.split_at_checked(NONCE_BYTES)?;
        let payload = Payload { msg: text, aad: purpose.as_bytes() };
        self.0.decrypt(&nonce(nonce_bytes)?, payload).ok()
    }
}

fn nonce(bytes: &[u8]) -> Option<XNonce> {
    <[u8; NONCE_BYTES]>::try_from(bytes).ok().map(XNonce::from)
}

/// Never shows the key.
impl fmt::Debug for SealingKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("<sealing key>")
    }
}

#[cfg(test)]
mod tests;
