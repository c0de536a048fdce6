//! Texts that look like a secret, whatever their key.

use crate::config::report::secrecy::is_variable;

/// How keys and tokens of well-known services begin.
const PREFIXES: [&str; 16] = [
    "sk-",
    "sk_live_",
    "rk_live_",
    "ghp_",
    "gho_",
    "ghu_",
    "ghs_",
    "ghr_",
    "github_pat_",
    "glpat-",
    "xoxb-",
    "xoxp-",
    "xapp-",
    "AKIA",
    "AIza",
    "hf_",
];

/// No key or token of such a service is shorter, in bytes.
const SHORTEST: usize = 16;

/// Does a text look like a private key, a token of a well-known service or an address with a password in it?
pub(in crate::config) fn looks_secret(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let mut words = text.split(|c: char| !is_part(c)).filter(|word| word.len() >= SHORTEST);
    text.contains("PRIVATE KEY-----")
        || words.any(|word| PREFIXES.iter().any(|prefix| word.starts_with(prefix)) || is_web_token(word))
        || passwords(text).any(|password| !password.is_empty() && !is_variable(password))
}

/// A token of RFC 7519: three parts of Base64, the first of which is JSON.
fn is_web_token(word: &str) -> bool {
    word.starts_with("eyJ") && word.matches('.').count() == 2
}

/// What stands between the name and the host of each address: `scheme://name:password@host`.
fn passwords(text: &str) -> impl Iterator<Item = &str> {
    text.split("://").skip(1).filter_map(|rest| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next()?;
        Some(authority.rsplit_once('@')?.0.split_once(':')?.1)
    })
}
