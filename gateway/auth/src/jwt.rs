//! The form and signature of JWTs (RFC 7515, RFC 7519, RFC 9068). The claims are read, but not believed, before the
//! signature is verified: they name the issuer, and so the keys.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use moongate_model::json::parse_strict;
use serde_json::{Map, Value};

use crate::authenticator::TokenProblem;
use crate::jwk::{SignatureAlgorithm, VerificationKeys};

/// The type of a token, from its header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum TokenType {
    /// An access token (RFC 9068).
    AccessToken,
    /// Any JWT. Some issuers don't use the type of access tokens, such as Keycloak, Entra ID and Okta.
    Jwt,
}

/// A token whose signature hasn't been verified.
#[derive(Debug)]
pub(crate) struct UnverifiedJwt<'t> {
    /// The signed text.
    message: &'t str,
    signature: Vec<u8>,
    algorithm: SignatureAlgorithm,
    key_id: String,
    token_type: TokenType,
    claims: Map<String, Value>,
}

/// The claims of a token whose signature was verified.
#[derive(Debug)]
pub(crate) struct SignedClaims {
    pub(crate) token_type: TokenType,
    pub(crate) claims: Map<String, Value>,
}

impl<'t> UnverifiedJwt<'t> {
    /// Reads a JWT. `None` if the token has another form, so it is opaque.
    ///
    /// # Errors
    /// It is a JWT, but not one that can be accepted.
    pub(crate) fn parse(token: &'t str) -> Option<Result<Self, TokenProblem>> {
        let (message, signature) = token.rsplit_once('.')?;
        let (header, claims) = message.split_once('.')?;
        if claims.contains('.') {
            return None; // an encrypted token has five parts
        }
        let header = json_object(header)?;
        Some(Self::read(message, &header, claims, signature))
    }

    fn read(
        message: &'t str,
        header: &Map<String, Value>,
        claims: &str,
        signature: &str,
    ) -> Result<Self, TokenProblem> {
        let algorithm = header.get("alg").and_then(Value::as_str).and_then(SignatureAlgorithm::parse);
        let algorithm = algorithm.ok_or(TokenProblem::Algorithm)?;
        // No extension is supported, and a token whose payload isn't encoded has `b64`.
        if header.contains_key("crit") || header.contains_key("b64") {
            return Err(TokenProblem::CriticalHeader);
        }
        let token_type = token_type(header.get("typ"))?;
        let key_id = header.get("kid").and_then(Value::as_str).ok_or(TokenProblem::NoKeyId)?.to_owned();
        let claims = json_object(claims).ok_or(TokenProblem::Malformed)?;
        let signature = URL_SAFE_NO_PAD.decode(signature).map_err(|_| TokenProblem::Malformed)?;
        Ok(Self { message, signature, algorithm, key_id, token_type, claims })
    }

    /// The issuer that the token names.
    pub(crate) fn issuer(&self) -> Option<&str> {
        self.claims.get("iss")?.as_str()
    }

    /// The id of its key.
    pub(crate) fn key_id(&self) -> &str {
        &self.key_id
    }

    /// Verifies the signature.
    ///
    /// # Errors
    /// No key has the token's key id, or the key didn't make the signature.
    pub(crate) fn verify(self, keys: &VerificationKeys) -> Result<SignedClaims, TokenProblem> {
        if !keys.has(&self.key_id) {
            return Err(TokenProblem::UnknownKey);
        }
        let mut candidates = keys.find(&self.key_id, self.algorithm).peekable();
        if candidates.peek().is_none() {
            return Err(TokenProblem::Algorithm);
        }
        let message = self.message.as_bytes();
        if !candidates.any(|key| key.verifies(self.algorithm, message, &self.signature)) {
            return Err(TokenProblem::Signature);
        }
        Ok(SignedClaims { token_type: self.token_type, claims: self.claims })
    }
}

/// The type of a token. Types such as `dpop+jwt` and `logout+jwt` are for other purposes.
fn token_type(written: Option<&Value>) -> Result<TokenType, TokenProblem> {
    let Some(written) = written else { return Ok(TokenType::Jwt) };
    let written = written.as_str().ok_or(TokenProblem::TokenType)?;
    // A media type, in any case (RFC 7515, 4.1.9).
    let is = |name: &str| written.eq_ignore_ascii_case(name);
    if is("at+jwt") || is("application/at+jwt") {
        Ok(TokenType::AccessToken)
    } else if is("JWT") || is("application/jwt") {
        Ok(TokenType::Jwt)
    } else {
        Err(TokenProblem::TokenType)
    }
}

/// A part of a token: an encoded JSON object without duplicate keys.
fn json_object(part: &str) -> Option<Map<String, Value>> {
    let text = String::from_utf8(URL_SAFE_NO_PAD.decode(part).ok()?).ok()?;
    match parse_strict(&text).ok()? {
        Value::Object(members) => Some(members),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => None,
    }
}

#[cfg(test)]
mod tests;
