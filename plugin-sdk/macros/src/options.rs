//! What stands in the parentheses of an attribute: `key`, or `key = value`, with each key once.

use proc_macro2::{Span, TokenStream};
use quote::ToTokens;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Error, Expr, ExprLit, Ident, Lit, LitStr, Result, Token};

/// The options of one attribute.
pub(crate) struct Options {
    /// Where the attribute stands.
    span: Span,
    entries: Vec<Entry>,
}

struct Entry {
    key: Ident,
    value: Option<Expr>,
}

impl Parse for Entry {
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
    /// Reads the options of an attribute that knows these keys.
    pub(crate) fn parse(tokens: TokenStream, span: Span, known: &[&str]) -> Result<Self> {
        let entries = syn::parse::Parser::parse2(Punctuated::<Entry, Token![,]>::parse_terminated, tokens)?;
        let entries: Vec<Entry> = entries.into_iter().collect();
        for (index, entry) in entries.iter().enumerate() {
            if !known.iter().any(|known| entry.key == known) {
                let list = known.iter().map(|key| format!("`{key}`")).collect::<Vec<_>>().join(", ");
                let message = match known.iter().find(|known| plain(known) == plain(&entry.key.to_string())) {
                    Some(meant) => format!("unknown option `{}`; write `{meant}`", entry.key),
                    None => format!("unknown option `{}`; known here: {list}", entry.key),
                };
                return Err(Error::new(entry.key.span(), message));
            }
            if entries[..index].iter().any(|earlier| earlier.key == entry.key) {
                return Err(Error::new(entry.key.span(), format!("`{}` stands here twice", entry.key)));
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

    /// The value of `key` as text written out.
    pub(crate) fn text(&self, key: &str) -> Result<Option<LitStr>> {
        match self.expr(key)? {
            None => Ok(None),
            Some(Expr::Lit(ExprLit { lit: Lit::Str(text), .. })) => Ok(Some(text.clone())),
            Some(other) => Err(Error::new_spanned(other, format!("`{key}` is written out: `{key} = \"…\"`"))),
        }
    }

    /// The same, of a key that must be there.
    pub(crate) fn needed(&self, key: &str) -> Result<LitStr> {
        self.text(key)?.ok_or_else(|| Error::new(self.span, format!("`{key} = \"…\"` is missing")))
    }

    /// The function that says whether the entry is listed.
    pub(crate) fn when(&self) -> Result<Option<TokenStream>> {
        match self.expr("when")? {
            None => Ok(None),
            Some(Expr::Path(path)) => Ok(Some(path.to_token_stream())),
            Some(other) => {
                Err(Error::new_spanned(other, "`when` names a function: `when = Self::is_listed`"))
            }
        }
    }

    /// The first key that isn't this one.
    pub(crate) fn other_than(&self, key: &str) -> Option<&Ident> {
        self.entries.iter().map(|entry| &entry.key).find(|other| *other != key)
    }

    /// `key` alone or `key = true` is yes, `key = false` is no.
    pub(crate) fn flag(&self, key: &str) -> Result<Option<bool>> {
        let Some(entry) = self.entries.iter().find(|entry| entry.key == key) else { return Ok(None) };
        match &entry.value {
            None => Ok(Some(true)),
            Some(Expr::Lit(ExprLit { lit: Lit::Bool(value), .. })) => Ok(Some(value.value)),
            Some(other) => Err(Error::new_spanned(other, format!("`{key}` is `true` or `false`"))),
        }
    }
}

/// A key without what is written in other ways elsewhere: `readOnlyHint` and `readonly` mean `read_only`.
fn plain(key: &str) -> String {
    let key = key.to_ascii_lowercase().replace('_', "");
    key.strip_suffix("hint").unwrap_or(&key).to_owned()
}

/// The name that is written out, else the function's; what is wrong with it is said there.
pub(crate) fn name(options: &Options, function: &Ident) -> Result<LitStr> {
    let name = options.text("name")?;
    Ok(name.unwrap_or_else(|| LitStr::new(&function.unraw().to_string(), function.span())))
}

/// Checks a name that the gateway will join to the plugin's prefix.
pub(crate) fn check_name(name: &LitStr) -> Result<()> {
    let text = name.value();
    if text.is_empty() {
        let message = "the name is empty; leave `name` out, and the function's name is taken";
        return Err(Error::new(name.span(), message));
    }
    if let Some(bad) = text.chars().find(|c| !(c.is_ascii_alphanumeric() || *c == '_' || *c == '-')) {
        let message = format!(
            "`{text}` holds {bad:?}, but hosts accept only `a-z`, `A-Z`, `0-9`, `_` and `-`; set another one with `name = \"…\"`"
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
