//! Detection of secrets: by the names of keys and variables, and by the content of strings.

use toml::de::DeTable;

use super::environment::is_single_variable;

/// Words in the names of secrets.
const SECRET_WORDS: [&str; 11] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "key",
    "apikey",
    "auth",
    "authorization",
    "credential",
    "cookie",
];

/// Words that name a secret also as a part of a longer word, such as in `PGPASSWORD` or `secretkey`.
const SECRET_WORD_PARTS: [&str; 9] = [
    "token",
    "secret",
    "password",
    "passwd",
    "passphrase",
    "apikey",
    "authorization",
    "credential",
    "cookie",
];

/// Words that can follow such a part without a separator.
const SECRET_WORD_ENDINGS: [&str; 6] = ["key", "value", "text", "string", "hash", "header"];

/// Last words of names that are about the location or size of a secret, not the secret itself.
const HARMLESS_LAST_WORDS: [&str; 11] =
    ["env", "file", "name", "path", "url", "timeout", "ttl", "limit", "count", "size", "length"];

/// Prefixes of the tokens of well-known services.
const TOKEN_PREFIXES: &str = "sk- sk_live_ rk_live_ ghp_ gho_ ghu_ ghs_ ghr_ github_pat_ glpat- xoxb- xoxp- xapp- \
                              AKIA AIza hf_";

/// The shortest token of a well-known service, in bytes.
const MIN_TOKEN_BYTES: usize = 16;

/// Authentication schemes before a secret in a header (RFC 9110, 11.1; some aren't standard).
const AUTH_SCHEMES: [&str; 6] = ["bearer", "basic", "token", "bot", "apikey", "key"];

/// Reports whether this dotted key or variable name is that of a secret.
pub(crate) fn is_secret_name(name: &str) -> bool {
    name.split('.').any(|part| {
        let words = words(part);
        let last = words.last().map_or("", String::as_str);
        let is_limit = words.first().is_some_and(|first| first == "max" || first == "min");
        !is_limit && !HARMLESS_LAST_WORDS.contains(&last) && words.iter().any(|word| is_secret_word(word))
    })
}

/// Reports whether a word names a secret, with any number at its end.
fn is_secret_word(word: &str) -> bool {
    let word = word.trim_end_matches(|c: char| c.is_ascii_digit()).trim_end_matches('s');
    let has_part = |part: &&str| {
        word.ends_with(*part)
            || word.strip_prefix(*part).is_some_and(|rest| SECRET_WORD_ENDINGS.contains(&rest))
    };
    SECRET_WORDS.contains(&word) || SECRET_WORD_PARTS.iter().any(has_part)
}

/// The words of a name such as `api-key`, `API_KEY` or `apiKey`, in lower case.
fn words(name: &str) -> Vec<String> {
    let mut words = vec![String::new()];
    let mut was_lower = false;
    for c in name.chars() {
        if !c.is_alphanumeric() || c.is_uppercase() && was_lower {
            words.push(String::new());
        }
        if c.is_alphanumeric() {
            words.last_mut().expect("there is a word").extend(c.to_lowercase());
        }
        was_lower = c.is_lowercase();
    }
    words
}

/// Reports whether a string contains a credential: a private key, a token of a well-known service, a password in a URL,
/// or a default for a secret variable.
pub(crate) fn contains_secret(text: &str) -> bool {
    let is_token_character = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
    let is_token = |word: &str| {
        let is_jwt = word.starts_with("eyJ") && word.matches('.').count() == 2; // RFC 7519
        word.len() >= MIN_TOKEN_BYTES
            && (is_jwt || TOKEN_PREFIXES.split(' ').any(|prefix| word.starts_with(prefix)))
    };
    let has_password = |rest: &str| {
        let authority = rest.split(['/', '?', '#', ' ', '"', '\'']).next().unwrap_or_default();
        let user_info = authority.rsplit_once('@').and_then(|(user_info, _)| user_info.split_once(':'));
        user_info.is_some_and(|(_, password)| !password.is_empty() && !is_single_variable(password))
    };
    let has_default = |used: &str| {
        let default = used.split('}').next().and_then(|used| used.split_once(':'));
        default.is_some_and(|(name, default)| is_secret_name(name) && !matches!(default, "" | "-"))
    };
    text.contains("PRIVATE KEY-----")
        || text.split(|c| !is_token_character(c)).any(is_token)
        || text.split("://").skip(1).any(has_password)
        || text.split("${").skip(1).any(has_default)
}

/// Reports whether the value of this dotted key is a secret.
pub(crate) fn is_secret_value(key: &str, value: &str) -> bool {
    is_secret_name(key) && !is_single_variable(value) || contains_secret(value)
}

/// Reports whether a header's prefix is only an authentication scheme.
pub(crate) fn is_auth_scheme(prefix: &str) -> bool {
    let word = prefix.trim_end();
    word.is_empty() || AUTH_SCHEMES.iter().any(|scheme| word.eq_ignore_ascii_case(scheme))
}

/// Reports whether it is a table that refers to a secret and contains nothing else.
pub(crate) fn is_secret_ref(table: &DeTable<'_>) -> bool {
    let is_key = |key: &str| matches!(key, "env" | "file");
    !table.is_empty() && table.keys().all(|key| is_key(key.get_ref()))
}
