//! `#[resource]`: the generated list entry, and one step of `read_resource`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{Error, LitStr, Result};

use crate::method::{Argument, Method};
use crate::options::{self, Options};
use crate::tool::{listed, optional};

const OPTIONS: &[&str] = &["uri", "name", "title", "mime_type", "when"];

/// A parsed resource or template.
pub(crate) struct Resource {
    pub(crate) uri: LitStr,
    /// The template's variables, in order. Empty for a fixed resource.
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
        let uri = options.required("uri")?;
        let variables = check_uri(&uri)?;
        let name = options::name(&options, &method.ident)?;
        let title = optional(options.text("title")?);
        let mime_type = options.text("mime_type")?;
        if let Some(ty) = method.args() {
            return Err(Error::new_spanned(
                ty,
                "a resource has no arguments; its parameters must be the variables of `uri`",
            ));
        }
        let named = |argument: &Argument| argument.ident.unraw().to_string();
        if let Some(stray) = method
            .arguments()
            .find(|argument| named(argument) != "uri" && !variables.contains(&named(argument)))
        {
            let ident = stray.ident.unraw();
            return Err(Error::new(stray.ident.span(), format!("`uri` has no variable `{{{ident}}}`")));
        }
        if let Some(left) = variables
            .iter()
            .find(|variable| !method.arguments().any(|argument| named(argument) == **variable))
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

    /// Returns `true` if the URI has this variable.
    pub(crate) fn takes(&self, variable: &str) -> bool {
        self.variables.iter().any(|name| name == variable)
    }

    /// The code of the list entry.
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

    /// The code of one step of `read_resource`: it returns if `uri` matches.
    pub(crate) fn step(&self) -> TokenStream {
        let Self { uri, method, mime_type, variables, .. } = self;
        let cfgs = &method.cfgs;
        let mime_type = match mime_type {
            Some(text) => quote!(::core::option::Option::Some(#text)),
            None => quote!(::core::option::Option::None),
        };
        let call = method.call(&TokenStream::new(), |argument| {
            let name = argument.ident.unraw().to_string();
            match variables.iter().position(|variable| *variable == name) {
                Some(index) => {
                    let ty = &argument.ty;
                    quote!(::moongate_sdk::expansion::variable::<#ty>(uri, #name, &values[#index])?)
                }
                None => quote!(::std::string::String::from(uri)),
            }
        });
        // A closure, so that `?` ends only the parsing of the arguments.
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

/// Checks that `uri` is absolute, and returns its variables.
fn check_uri(uri: &LitStr) -> Result<Vec<String>> {
    let text = uri.value();
    let bad = |message: String| Err(Error::new(uri.span(), message));
    let scheme = text.split_once(':').map_or("", |(scheme, _)| scheme);
    let fits = |c: char| c.is_ascii_alphanumeric() || "+-.".contains(c);
    if !scheme.starts_with(|c: char| c.is_ascii_alphabetic()) || !scheme.chars().all(fits) {
        return bad(format!(
            "`{text}` isn't an absolute URI: it must start with a scheme, as in `notes://today`"
        ));
    }
    if let Some(problem) = invalid_prefix(&text, scheme) {
        return bad(problem);
    }
    let mut variables = Vec::new();
    let mut rest = text.as_str();
    while let Some((_, after)) = rest.split_once('{') {
        let Some((variable, after)) = after.split_once('}') else {
            return bad(format!("unclosed `{{` in `{text}`"));
        };
        let name = variable.strip_prefix('+').unwrap_or(variable);
        if syn::parse_str::<syn::Ident>(name).is_err() {
            return bad(format!(
                "`{{{variable}}}` isn't supported; write `{{name}}` for a path segment or `{{+name}}` for any string"
            ));
        }
        if variables.iter().any(|earlier| earlier == name) {
            return bad(format!("`{text}` contains `{{{name}}}` twice"));
        }
        variables.push(name.to_owned());
        rest = after;
    }
    Ok(variables)
}

/// The error for a URI that the gateway would reject, checked up to the first variable.
fn invalid_prefix(text: &str, scheme: &str) -> Option<String> {
    let is_invalid = |c: &char| !c.is_ascii_graphic() || "\"<>\\^`".contains(*c);
    if let Some(c) = text.chars().find(is_invalid) {
        return Some(format!(
            "`{text}` contains {c:?}, which isn't allowed in a URI; percent-encode it (RFC 3986)"
        ));
    }
    let is_only_a_scheme = text.len() == scheme.len() + 1;
    is_only_a_scheme.then(|| {
        format!("`{text}` contains only a scheme; write `{scheme}:today`, or another word for `today`")
    })
}
