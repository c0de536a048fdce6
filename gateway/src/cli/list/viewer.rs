//! `--as`: the caller whose view is listed.

use std::collections::BTreeMap;
use std::sync::Arc;

use clap::Args;
use moongate_config::Config;
use moongate_model::names::{LocalUser, Principal, TokenFacts, TokenSubject};
use moongate_model::text::nearest_name;
use moongate_protocol::catalog::Catalog;

use crate::cli::error::CommandError;
use crate::cli::{CommonOptions, ExitKind, configuration, list, print};

/// Options that select a caller.
#[derive(Debug, Args)]
pub(super) struct ViewerOptions {
    /// List what this caller sees: the name of a token or a certificate, `uid:NUMBER`, `stdio`, `anonymous`, or `ISSUER
    /// SUBJECT`
    #[arg(long = "as", id = "viewer", value_name = "CALLER", conflicts_with_all = ["admin", "url"])]
    viewer: Option<String>,
    /// Scope of the caller's access token, with `--as`; repeat for several
    #[arg(long = "scope", id = "viewer_scopes", value_name = "SCOPE", requires = "viewer")]
    scopes: Vec<String>,
    /// Claim of the caller's access token, with `--as`; repeat for several
    #[arg(long = "claim", id = "viewer_claims", value_name = "NAME=VALUE", requires = "viewer")]
    claims: Vec<String>,
}

impl ViewerOptions {
    /// The view of the named caller, or the whole catalog if there is none.
    pub(super) fn view(
        &self,
        catalog: &Arc<Catalog>,
        common: &CommonOptions,
    ) -> Result<Arc<Catalog>, CommandError> {
        let Some(viewer) = &self.viewer else { return Ok(Arc::clone(catalog)) };
        let principal = self.principal(viewer)?;
        if let Some(config) = configuration::read(common.config.as_deref()).config
            && let Some(reason) = unknown_caller(&principal, &config)
        {
            list::live::note(common, &reason);
        }
        let view = catalog.visible_to(&principal);
        match view.role_names() {
            None => list::live::note(common, "there are no roles, so every caller sees the same"),
            Some(names) if names.is_empty() => {
                list::live::note(common, "this caller has no role and sees nothing")
            }
            Some(names) => list::live::note(common, &format!("roles of this caller: {}", names.join(", "))),
        }
        Ok(view)
    }

    /// Reports whether a caller is named.
    pub(super) fn is_set(&self) -> bool {
        self.viewer.is_some()
    }

    fn principal(&self, viewer: &str) -> Result<Principal, CommandError> {
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        if let Some((issuer, subject)) = viewer.split_once(' ') {
            let mut claims = BTreeMap::<String, Vec<String>>::new();
            for claim in &self.claims {
                let (name, value) = claim.split_once('=').ok_or_else(|| {
                    usage("`--claim` needs a value", "write it as `--claim groups=engineering`")
                })?;
                claims.entry(name.to_owned()).or_default().push(value.to_owned());
            }
            let facts = TokenFacts { scopes: self.scopes.iter().cloned().collect(), claims };
            let subject = TokenSubject::new(issuer.into(), subject.trim().into(), subject);
            return Ok(Principal::Subject(Arc::new(subject.with_facts(facts))));
        }
        if !self.scopes.is_empty() || !self.claims.is_empty() {
            let hint = "name the subject of an issuer: `--as \"https://auth.example.com ann\"`";
            return Err(usage("only access tokens have scopes and claims", hint));
        }
        Ok(match viewer {
            "stdio" => Principal::Local,
            "anonymous" => Principal::Anonymous,
            name if ["dns:", "email:", "uri:"].iter().any(|kind| name.starts_with(kind)) => {
                Principal::Certificate(name.into())
            }
            name if name.starts_with("uid:") && LocalUser::from_name(name).is_none() => {
                let hint = "write it as `--as uid:1000`";
                return Err(usage("a user of this machine is named by a number", hint));
            }
            name => match LocalUser::from_name(name) {
                Some(user) => Principal::User(user),
                None => Principal::Named(name.into()),
            },
        })
    }
}

/// The reason that no caller has this name, as far as the configuration tells.
fn unknown_caller(principal: &Principal, config: &Config) -> Option<String> {
    let http = &config.http;
    match principal {
        Principal::Named(name) if !http.tokens.iter().any(|token| token.principal == *name) => {
            let nearest = nearest_name(name, http.tokens.iter().map(|token| &*token.principal));
            let suggestion = nearest.map(|name| format!("; did you mean `{}`?", print::inline(name)));
            let name = print::inline(name);
            Some(format!("no static token is named `{name}`{}", suggestion.unwrap_or_default()))
        }
        Principal::Certificate(_) if !http.accepts_certificates() => Some(
            "no caller has a client certificate, because there is no `client_ca` in `[http.tls]`".to_owned(),
        ),
        Principal::Subject(subject)
            if !http.oauth.issuers.iter().any(|issuer| *issuer.issuer == *subject.issuer()) =>
        {
            Some(format!("there is no issuer `{}`", print::inline(subject.issuer())))
        }
        Principal::Named(_)
        | Principal::Certificate(_)
        | Principal::Subject(_)
        | Principal::User(_)
        | Principal::Local
        | Principal::Operator
        | Principal::Anonymous => None,
    }
}
