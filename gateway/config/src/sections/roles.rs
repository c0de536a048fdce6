//! `[roles.NAME]`: the callers that see plugins, tools, prompts and resources.

use std::ops::Range;
use std::sync::Arc;

use moongate_model::call_rate::CallerLimits;
use moongate_model::names::{LocalUser, PluginId};
use moongate_model::roles::{
    AccessRole, AccessRoles, CallerCondition, ItemPatterns, NamePattern, RoleMember, SubjectCondition,
    UriPattern,
};
use moongate_model::text::nearest_name;

use super::http::HttpConfig;
use super::plugin::{NAME_HINT, or_report_name};
use super::rates::read_caller_limits;
use crate::PluginConfig;
use crate::model::Diagnostic;
use crate::model::diagnostic::quoted;
use crate::read::{ConfigReader, TomlString, TomlTable, TomlValue};
use crate::spec::keys::{ROOT, ValueKind};

/// The longest pattern, in bytes.
const MAX_PATTERN_BYTES: usize = 512;

/// The parts of the configuration that roles refer to.
#[derive(Clone, Copy)]
pub(crate) struct RoleReferences<'a> {
    pub(crate) http: &'a HttpConfig,
    pub(crate) plugins: &'a [Arc<PluginConfig>],
}

/// Reads `[roles]`. `None` means that all callers see everything.
pub(crate) fn read_roles(
    reader: &mut ConfigReader<'_>,
    root: &TomlTable<'_>,
    references: RoleReferences<'_>,
) -> Option<Arc<AccessRoles>> {
    let section = root.get("roles")?;
    let key = ROOT.iter().find(|key| key.name == "roles").map(|key| key.kind);
    let Some(ValueKind::Named(kind @ ValueKind::Table(keys))) = key else {
        unreachable!("`roles` has named tables in the key table")
    };
    let named = reader.named_entries(root, "roles");
    if named.is_empty() && section.inner.is_table() {
        let problem = Diagnostic::error("`[roles]` has no role").with_span(section.key_span.clone());
        reader
            .report(problem.with_hint("remove it if all callers may see everything, or add `[roles.NAME]`"));
    }
    let mut roles = Vec::new();
    for (name, value) in &named {
        or_report_name(reader, PluginId::new(name), &value.key_span, "invalid role name", NAME_HINT);
        let Some(entries) = value.inner.as_table() else {
            reader.report_wrong_type(value, kind);
            continue;
        };
        let table = TomlTable { path: value.path.clone(), span: value.key_span.clone(), entries, keys };
        reader.check_keys(&table, &[]);
        roles.push(read_role(reader, name, value, &table, references));
    }
    if !roles.is_empty() {
        warn_of_blind_tokens(reader, &section.key_span, &roles, references.http);
    }
    Some(Arc::new(AccessRoles::new(roles)))
}

/// Warns of static tokens that see nothing. As soon as there is a role, every caller needs one.
fn warn_of_blind_tokens(
    reader: &mut ConfigReader<'_>,
    span: &Range<usize>,
    roles: &[AccessRole],
    http: &HttpConfig,
) {
    let sees =
        |name: &str| roles.iter().any(|role| role.allow != ItemPatterns::default() && has_token(role, name));
    let tokens = http.tokens.iter().map(|token| &*token.principal);
    let blind: Vec<&str> = tokens.filter(|name| !sees(name)).collect();
    let message = match blind[..] {
        [] => return,
        [one] => format!("no role allows the token {} anything, so it sees nothing", quoted(one)),
        _ => {
            let names: Vec<_> = blind.iter().map(|name| quoted(name)).collect();
            format!("no role allows the tokens {} anything, so they see nothing", names.join(", "))
        }
    };
    let hint = "add each to the `members` of a role, or add a role for all callers: `members = [{ caller = \"any\" }]` with \
                `allow.plugins = [\"*\"]`";
    reader.report(Diagnostic::warning(message).with_span(span.clone()).with_hint(hint));
}

/// Reports whether the role has a member that names this static token, or every caller.
fn has_token(role: &AccessRole, name: &str) -> bool {
    role.members.iter().any(|member| match &member.callers {
        CallerCondition::Any => true,
        CallerCondition::Token(token) => **token == *name,
        CallerCondition::Stdio
        | CallerCondition::Anonymous
        | CallerCondition::Certificate(_)
        | CallerCondition::User(_)
        | CallerCondition::Subject(_) => false,
    })
}

fn read_role(
    reader: &mut ConfigReader<'_>,
    name: &str,
    value: &TomlValue<'_>,
    table: &TomlTable<'_>,
    references: RoleReferences<'_>,
) -> AccessRole {
    let members = reader.tables(table, "members");
    if members.is_empty()
        && let Some(value) = table.get("members").filter(|value| value.inner.is_array())
    {
        let problem = Diagnostic::warning(format!("no caller has the role {}", quoted(name)));
        reader.report(problem.with_span(value.span).with_hint("add a member such as `{ token = \"NAME\" }`"));
    }
    let members = members.into_iter().filter_map(|member| {
        let callers = read_member(reader, &member, references)?;
        Some(RoleMember { span: member.span.clone(), callers })
    });
    let members = members.collect();
    let allow = reader.table(table, "allow").map(|table| read_patterns(reader, &table, references));
    let allow = allow.unwrap_or_default();
    let limits = reader.table(table, "limits").map(|table| read_caller_limits(reader, &table));
    let limits = limits.unwrap_or_default();
    if allow == ItemPatterns::default() && limits == CallerLimits::default() {
        let message =
            format!("the role {} allows nothing; callers without another role see nothing", quoted(name));
        let hint = "add what its callers see, such as `allow.plugins = [\"*\"]`, or keep it to restrict \
                    callers that also have other roles";
        reader.report(Diagnostic::warning(message).with_span(value.key_span.clone()).with_hint(hint));
    }
    let deny = reader.table(table, "deny").map(|table| read_patterns(reader, &table, references));
    AccessRole {
        name: name.into(),
        span: value.key_span.clone(),
        members,
        allow,
        deny: deny.unwrap_or_default(),
        limits,
    }
}

/// Reads a condition. `None` if it is invalid or can't match any caller.
fn read_member(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    references: RoleReferences<'_>,
) -> Option<CallerCondition> {
    let kinds: Vec<_> =
        ["caller", "token", "certificate", "uid", "issuer", "subject", "scope", "claim", "value"]
            .into_iter()
            .filter(|key| table.get(key).is_some())
            .collect();
    let is_alone = |key: &str| kinds.contains(&key) && kinds.len() > 1;
    if kinds.is_empty() {
        let problem = Diagnostic::error("this member has no condition").with_span(table.span.clone());
        reader.report(
            problem.with_hint("name a caller, such as `{ token = \"NAME\" }` or `{ caller = \"any\" }`"),
        );
        return None;
    }
    if let Some(key) = ["caller", "token", "certificate", "uid"].into_iter().find(|key| is_alone(key)) {
        let message = format!("`{key}` can't be combined with other conditions");
        reader
            .report(Diagnostic::error(message).with_span(table.span.clone()).with_hint("write two members"));
        return None;
    }
    if kinds == ["caller"] {
        let caller = reader.string(table, "caller")?;
        return match caller.text.as_str() {
            "any" => Some(CallerCondition::Any),
            "stdio" => Some(CallerCondition::Stdio),
            _ => {
                if references.http.requires_authentication() {
                    let problem = Diagnostic::warning("no caller is anonymous, because a token is required");
                    reader.report(
                        problem
                            .with_span(caller.span)
                            .with_hint("name tokens or issuers, or write `any` for all callers"),
                    );
                }
                Some(CallerCondition::Anonymous)
            }
        };
    }
    if kinds == ["token"] {
        let name = reader.string(table, "token")?;
        warn_of_unknown_token(reader, &name, references.http);
        return Some(CallerCondition::Token(name.text.into()));
    }
    if kinds == ["certificate"] {
        let name = reader.string(table, "certificate")?;
        if !references.http.accepts_certificates() && !references.http.has_broken_tls {
            let problem =
                Diagnostic::warning("no caller has a client certificate").with_span(name.span.clone());
            reader.report(problem.with_hint("set `client_ca` in `[http.tls]`, or remove this member"));
        }
        return certificate_name(reader, &name).map(CallerCondition::Certificate);
    }
    if kinds == ["uid"] {
        let uid = reader.integer(table, "uid", u32::MAX); // which no user has, if it isn't valid
        return Some(CallerCondition::User(LocalUser::new(uid)));
    }
    read_subject(reader, table, references.http).map(CallerCondition::Subject)
}

/// The name in a client certificate, with its type.
fn certificate_name(reader: &mut ConfigReader<'_>, name: &TomlString) -> Option<Arc<str>> {
    match name.text.split_once(':') {
        // Names of hosts are the same in any case.
        Some(("dns", host)) if !host.is_empty() => Some(format!("dns:{}", host.to_ascii_lowercase()).into()),
        Some(("uri" | "email", rest)) if !rest.is_empty() => Some(name.text.as_str().into()),
        _ => {
            let message = format!("invalid certificate name {}", quoted(&name.text));
            let hint = "write the type before the name: `dns:ci.example.com`, `uri:…` or `email:…`";
            reader.report(Diagnostic::error(message).with_span(name.span.clone()).with_hint(hint));
            None
        }
    }
}

fn warn_of_unknown_token(reader: &mut ConfigReader<'_>, name: &TomlString, http: &HttpConfig) {
    // Tokens that can't be read are reported themselves.
    if http.unreadable_tokens == 0 && !http.tokens.iter().any(|token| *token.principal == *name.text) {
        let message = format!("no static token is named {}", quoted(&name.text));
        let known = http.tokens.iter().map(|token| &*token.principal);
        let hint = nearest_or(&name.text, known, "add it to `http.auth.tokens`, or remove this member");
        reader.report(Diagnostic::warning(message).with_span(name.span.clone()).with_hint(hint));
    }
}

fn read_subject(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    http: &HttpConfig,
) -> Option<SubjectCondition> {
    let claim = reader.string(table, "claim");
    let value = reader.string(table, "value");
    let missing = match (&claim, &value) {
        (Some(_), None) if table.get("value").is_none() => Some(("claim", "value")),
        (None, Some(_)) if table.get("claim").is_none() => Some(("value", "claim")),
        _ => None,
    };
    if let Some((given, missing)) = missing {
        let problem = Diagnostic::error(format!("`{given}` needs `{missing}`")).with_span(table.span.clone());
        reader.report(
            problem.with_hint("write both, such as `{ claim = \"groups\", value = \"engineering\" }`"),
        );
    }
    let subject = reader.string(table, "subject").map(|text| text.text.into());
    let scope = reader.string(table, "scope").map(|text| text.text.into());
    let claim = claim.zip(value).map(|(claim, value)| (claim.text.into(), value.text.into()));
    let issuers = &http.oauth.issuers;
    let issuer = match (reader.string(table, "issuer"), issuers.as_slice()) {
        (Some(text), _) => {
            if !issuers.iter().any(|issuer| *issuer.issuer == *text.text) {
                let message = format!("there is no issuer {}", quoted(&text.text));
                let known = issuers.iter().map(|issuer| &*issuer.issuer);
                let hint =
                    nearest_or(&text.text, known, "add it to `http.auth.issuers`, or remove this member");
                reader.report(Diagnostic::warning(message).with_span(text.span.clone()).with_hint(hint));
            }
            text.text.into()
        }
        (None, [only]) => Arc::clone(&only.issuer),
        (None, []) => {
            let problem = Diagnostic::warning("no caller matches this: there are no issuers");
            reader.report(
                problem
                    .with_span(table.span.clone())
                    .with_hint("add `[[http.auth.issuers]]`, or remove this member"),
            );
            return None;
        }
        (None, [_, _, ..]) => {
            let problem = Diagnostic::error("this member needs `issuer`, because there are several issuers");
            reader.report(
                problem
                    .with_span(table.span.clone())
                    .with_hint("add `issuer`: scopes and claims have a meaning only for their own issuer"),
            );
            return None;
        }
    };
    Some(SubjectCondition { issuer, subject, scope, claim })
}

fn read_patterns(
    reader: &mut ConfigReader<'_>,
    table: &TomlTable<'_>,
    references: RoleReferences<'_>,
) -> ItemPatterns {
    let plugins = name_patterns(reader, table, "plugins");
    for pattern in &plugins {
        if !references.plugins.iter().any(|plugin| pattern.matches(plugin.id.as_str())) {
            let message = format!("no plugin matches {}", quoted(pattern.as_str()));
            let known = references.plugins.iter().map(|plugin| plugin.id.as_str());
            let hint =
                nearest_or(pattern.as_str(), known, "write the name of a plugin's table, or remove this");
            reader.report(Diagnostic::warning(message).with_span(pattern.span().clone()).with_hint(hint));
        }
    }
    let resources = valid_patterns(reader, table, "resources").into_iter();
    ItemPatterns {
        plugins,
        tools: name_patterns(reader, table, "tools"),
        prompts: name_patterns(reader, table, "prompts"),
        resources: resources.map(|text| UriPattern::new(&text.text, text.span)).collect(),
    }
}

fn name_patterns(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, key: &str) -> Vec<NamePattern> {
    let texts = valid_patterns(reader, table, key).into_iter();
    texts.map(|text| NamePattern::new(&text.text, text.span)).collect()
}

fn valid_patterns(reader: &mut ConfigReader<'_>, table: &TomlTable<'_>, key: &str) -> Vec<TomlString> {
    let mut valid = Vec::new();
    for text in reader.strings(table, key).unwrap_or_default() {
        let hint = if text.text.is_empty() {
            "write a name, or `*` for all"
        } else if text.text.len() > MAX_PATTERN_BYTES {
            "use at most 512 bytes"
        } else {
            valid.push(text);
            continue;
        };
        let problem = Diagnostic::error(format!("invalid pattern {}", quoted(&text.text)));
        reader.report(problem.with_span(text.span).with_hint(hint));
    }
    valid
}

/// A hint that suggests the most similar name, or `otherwise`.
fn nearest_or<'n>(name: &str, known: impl Iterator<Item = &'n str> + Clone, otherwise: &str) -> String {
    match nearest_name(name, known) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => otherwise.to_owned(),
    }
}
