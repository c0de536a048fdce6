//! `#[resource]`: one entry of the list of resources or templates, and one step of reading.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, LitStr, Result};

use crate::method::{Method, One};
use crate::options::{self, Options};
use crate::tool::{listed, optional};

const OPTIONS: &[&str] = &["uri", "name", "title", "mime_type", "when"];

/// A resource or a template, read.
pub(crate) struct Resource {
    pub(crate) uri: LitStr,
    /// The template's variables, in order; none for a plain resource.
    variables: Vec<String>,
    method: Method,
    name: LitStr,
    title: TokenStream,
    mime_type: Option<LitStr>,
    when: Option<TokenStream>,
}

impl Resource {
    pub(crate) fn read(method: Method, tokens: TokenStream) -> Result<Self> {
        let options = Options::parse(tokens, method.ident.span(), OPTIONS)?;
        let uri = options.needed("uri")?;
        let variables = check_uri(&uri)?;
        let name = options::name(&options, &method.ident)?;
        let title = optional(options.text("title")?);
        let mime_type = options.text("mime_type")?;
        if let Some(ty) = method.args() {
            return Err(Error::new_spanned(
                ty,
                "a resource has no arguments; its parameters are the variables of `uri`",
            ));
        }
        let named = |one: &One| one.ident.unraw().to_string();
        if let Some(stray) = method.ones().find(|one| named(one) != "uri" && !variables.contains(&named(one)))
        {
            let ident = stray.ident.unraw();
            return Err(Error::new(stray.ident.span(), format!("`uri` has no variable `{{{ident}}}`")));
        }
        if let Some(left) =
            variables.iter().find(|variable| !method.ones().any(|one| named(one) == **variable))
        {
            return Err(Error::new(
                uri.span(),
                format!("the function has no parameter `{left}` for `{{{left}}}`"),
            ));
        }
        let when = options.when()?;
        Ok(Self { uri, variables, method, name, title, mime_type, when })
    }

    pub(crate) fn is_template(&self) -> bool {
        !self.variables.is_empty()
    }

    /// Whether its URI has this variable.
    pub(crate) fn takes(&self, variable: &str) -> bool {
        self.variables.iter().any(|name| name == variable)
    }

    /// The entry of its list.
    pub(crate) fn entry(&self) -> TokenStream {
        let Self { uri, method, name, title, mime_type, when, .. } = self;
        let Method { description, cfgs, .. } = method;
        let mime_type = optional(mime_type.clone());
        let ty = if self.is_template() { quote!(ResourceTemplate) } else { quote!(ResourceInfo) };
        let resource = quote! {
            ::moongate_sdk::#ty {
                title: #title,
                description: ::core::option::Option::Some(::std::string::String::from(#description)),
                mime_type: #mime_type,
                ..::moongate_sdk::#ty::new(#uri, #name)
            }
        };
        listed(cfgs, when.as_ref(), &resource)
    }

    /// One step of reading: returns if `uri` is this resource.
    pub(crate) fn step(&self) -> TokenStream {
        let Self { uri, method, mime_type, variables, .. } = self;
        let cfgs = &method.cfgs;
        let mime_type = match mime_type {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        };
        let call = method.call(&TokenStream::new(), |one| {
            let name = one.ident.unraw().to_string();
            match variables.iter().position(|variable| *variable == name) {
                Some(index) => {
                    let ty = &one.ty;
                    quote!(::moongate_sdk::expansion::variable::<#ty>(uri, #name, &values[#index])?)
                }
                None => quote!(::std::string::String::from(uri)),
            }
        });
        // A closure, so that `?` ends the reading of the arguments and not the function.
        let value = quote! {
            (|| ::core::result::Result::<_, ::moongate_sdk::ToolError>::Ok(#call))()
        };
        let output = &method.output;
        let read = quote_spanned!(method.output_span=> ::moongate_sdk::expansion::read::<#output>);
        let read = quote!(return #read(uri, #mime_type, #value););
        if variables.is_empty() {
            return quote!(#(#cfgs)* if uri == #uri { #read });
        }
        let count = variables.len();
        quote! {
            #(#cfgs)*
            if let ::core::option::Option::Some(values) =
                ::moongate_sdk::expansion::variables::<#count>(#uri, uri) { #read }
        }
    }
}

/// Checks that `uri` is absolute, and gives the variables that stand in it.
fn check_uri(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let bad = |message: String| Err(Error::new(uri.span(), message));
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(fits) {
        return bad(format!(
            "`{text}` is no absolute URI: it must start with a scheme, as in `notes://today`"
        ));
    }
    if let Some(wrong) = wrong_beginning(&text, scheme) {
        return bad(wrong);
    }
    let mut variables = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once('{') {
        let Some((variable, after)) = after.split_once('}') else {
            return bad(format!("a `{{` in `{text}` is never closed"));
        };
        let name = variable.strip_prefix('+').unwrap_or(variable);
        if syn::parse_str::<syn::Ident>(name).is_err() {
            return bad(format!(
                "`{{{variable}}}` isn't supported; write `{{name}}` for one part of a path or `{{+name}}` for anything"
            ));
        }
        if variables.iter().any(|earlier| earlier == name) {
            return bad(format!("`{{{name}}}` stands in `{text}` twice"));
        }
        variables.push(name.to_owned());
        rest = after;
    }
    Ok(variables)
}

/// What the gateway would refuse of a URI with this scheme, up to its first variable.
fn wrong_beginning(text: &str, scheme: &str) -> Option<String> {
    let no_uri = |c: &char| !c.is_ascii_graphic() || "\"<>\\^`".contains(*c);
    if let Some(c) = text.chars().find(no_uri) {
        return Some(format!("`{text}` holds {c:?}, which no URI has; write it as a `%` escape (RFC 3986)"));
    }
    let (beginning, is_template) = match text.split_once('{') {
        Some((beginning, _)) => (beginning, true),
        None => (text, false),
    };
    let after = beginning.split_once(':').map_or("", |(_, after)| after);
    if !(after.is_empty() || is_template && after == "//") {
        return None;
    }
    let cure = if is_template {
        format!(
            "it says which resources are this plugin's; write `{scheme}://all/{{…}}`, or another word for `all`"
        )
    } else {
        format!("write `{scheme}:today`, or another word for `today`")
    };
    Some(format!("`{beginning}` names nothing but a scheme: {cure}"))
}
