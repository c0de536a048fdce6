//! The options in the parentheses of an attribute: `key`, or `key = value`. Each key is allowed once.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// The options of one attribute.
pub(crate) struct Options {
    /// The location of the attribute.
    span: Span,
    entries: Vec<OptionEntry>,
}

struct OptionEntry {
    key: Ident,
    value: Option<Expr>,
}

impl Parse for OptionEntry {
    fn parse(input: ParseStream<'_>) -> Result<Self> {
        let key = input.call(Ident::parse_any)?;
        let value = if input.peek(Token![=]) {
            input.parse::<Token![=]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        Ok(Self { key, value })
    }
}

impl Options {
    /// Parses the options of an attribute that supports the keys in `known`.
    pub(crate) fn parse(tokens: TokenStream, span: Span, known: &[&str]) -> Result<Self> {
        let entries =
            syn::parse::Parser::parse2(Punctuated::<OptionEntry, Token![,]>::parse_terminated, tokens)?;
        let entries: Vec<OptionEntry> = entries.into_iter().collect();
        for (index, entry) in entries.iter().enumerate() {
            if !known.iter().any(|known| entry.key == known) {
                let list = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let message = match known
                    .iter()
                    .find(|known| normalized(known) == normalized(&entry.key.to_string()))
                {
                    Some(meant) => format!("unknown option `{}`; write `{meant}`", entry.key),
                    None => format!("unknown option `{}`; known here: {list}", entry.key),
                };
                return Err(Error::new(entry.key.span(), message));
            }
            if entries[..index].iter().any(|earlier| earlier.key == entry.key) {
                return Err(Error::new(entry.key.span(), format!("duplicate option `{}`", entry.key)));
            }
        }
        Ok(Self { span, entries })
    }

    /// The value of `key` as an expression.
    pub(crate) fn expr(&self, key: &str) -> Result<Option<&Expr>> {
        let Some(entry) = self.entries.iter().find(|entry| entry.key == key) else { return Ok(None) };
        match &entry.value {
            Some(value) => Ok(Some(value)),
            None => Err(Error::new(entry.key.span(), format!("`{key}` needs a value: `{key} = …`"))),
        }
    }

    /// The value of `key` as a string literal.
    pub(crate) fn text(&self, key: &str) -> Result<Option<LitStr>> {
        match self.expr(key)? {
            None => Ok(None),
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(Some(text.clone())),
            Some(other) => {
                Err(Error::new_spanned(other, format!("`{key}` must be a string literal: `{key} = \"…\"`")))
            }
        }
    }

    /// The value of a required key.
    pub(crate) fn required(&self, key: &str) -> Result<LitStr> {
        self.text(key)?.ok_or_else(|| Error::new(self.span, format!("`{key} = \"…\"` is missing")))
    }

    /// The function that decides whether the item is listed.
    pub(crate) fn when(&self) -> Result<Option<TokenStream>> {
        match self.expr("when")? {
            None => Ok(None),
            Some(Expr::Path(path)) => Ok(Some(path.to_token_stream())),
            Some(other) => {
                Err(Error::new_spanned(other, "`when` must be a function: `when = Self::is_listed`"))
            }
        }
    }

    /// The first key other than `key`.
    pub(crate) fn first_key_except(&self, key: &str) -> Option<&Ident> {
        self.entries.iter().map(|entry| &entry.key).find(|other| *other != key)
    }

    /// `key` alone and `key = true` are `true`, `key = false` is `false`.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>> {
        let Some(entry) = self.entries.iter().find(|entry| entry.key == key) else { return Ok(None) };
        match &entry.value {
            None => Ok(Some(true)),
            Some(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. })) => Ok(Some(value.value)),
            Some(other) => Err(Error::new_spanned(other, format!("`{key}` is `true` or `false`"))),
        }
    }
}

/// Normalizes a key, so that `readOnlyHint` and `readonly` match `read_only`.
fn normalized(key: &str) -> String {
    let key = key.to_ascii_lowercase().replace('_', "");
    key.strip_suffix("hint").unwrap_or(&key).to_owned()
}

/// The name in the options, or else the function's. Errors point to it.
pub(crate) fn name(options: &Options, function: &Ident) -> Result<LitStr> {
    let name = options.text("name")?;
    Ok(name.unwrap_or_else(|| LitStr::new(&function.unraw().to_string(), function.span())))
}

/// Checks that hosts accept the name.
pub(crate) fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    if text.is_empty() {
        let message = "the name is empty; remove `name` to use the function's name";
        return Err(Error::new(name.span(), message));
    }
    if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '-')) {
        let message = format!(
            "`{text}` contains {bad:?}, but hosts accept only `a-z`, `A-Z`, `0-9`, `_` and `-`; set a different name with `name = \"…\"`"
        );
        return Err(Error::new(name.span(), message));
    }
    if text.len() > 64 {
        let message = format!(
            "`{text}` is {} characters long, but hosts accept 64, the plugin's prefix included; set a shorter one with \
             `name = \"…\"`",
            text.len()
        );
        return Err(Error::new(name.span(), message));
    }
    Ok(())
}
