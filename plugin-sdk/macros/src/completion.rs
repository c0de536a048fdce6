//! `#[complete]`: suggestions for one argument of a prompt or of a template.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::{Error, LitStr, Result};

use crate::method::{Method, Param};
use crate::options::Options;

/// A parsed completion.
pub(crate) struct Completion {
    method: Method,
    pub(crate) target: Target,
    pub(crate) argument: LitStr,
}

/// The item whose argument is completed.
pub(crate) enum Target {
    /// The prompt with this name.
    Prompt(LitStr),
    /// The resource with this template.
    Template(LitStr),
}

impl Completion {
    pub(crate) fn read(method: Method, tokens: TokenStream) -> Result<Self> {
        let span = method.ident.span();
        let options = Options::parse(tokens, span, &["prompt", "resource", "argument"])?;
        let target = match (options.text("prompt")?, options.text("resource")?) {
            (Some(name), None) => Target::Prompt(name),
            (None, Some(uri)) => Target::Template(uri),
            (Some(_), Some(_)) | (None, None) => {
                return Err(Error::new(
                    span,
                    "set what it completes: `prompt = \"…\"` or `resource = \"…\"`",
                ));
            }
        };
        let argument = options.required("argument")?;
        if method.params.iter().any(|param| matches!(param, Param::Context)) {
            return Err(Error::new(
                span,
                "a completion can't take `&Context`: completions run at every keystroke and can't ask questions or \
                 report progress",
            ));
        }
        let count = method.arguments().count();
        if method.args().is_some() || !(1..=2).contains(&count) {
            return Err(Error::new(
                span,
                "take the typed value as `&str`, and optionally the other arguments as `&[(String, String)]`",
            ));
        }
        Ok(Self { method, target, argument })
    }

    /// The code of one step of `complete`: it returns if the argument matches.
    pub(crate) fn step(&self) -> TokenStream {
        let Self { method, target, argument } = self;
        let cfgs = &method.cfgs;
        let target = match target {
            Target::Prompt(name) => {
                quote!(::moongate_sdk::CompletionTarget::Prompt(target) if target == #name)
            }
            Target::Template(uri) => {
                quote!(::moongate_sdk::CompletionTarget::ResourceTemplate(target) if target == #uri)
            }
        };
        let mut values =
            [quote!(::std::string::String::from(typed)), quote!(::std::vec::Vec::from(others))].into_iter();
        let call = method.call(&TokenStream::new(), |_| values.next().unwrap_or_default());
        let output = &method.output;
        let completed = quote_spanned!(method.output_span=> ::moongate_sdk::expansion::completed::<#output>);
        quote! {
            #(#cfgs)*
            if argument == #argument && ::core::matches!(target, #target) {
                return #completed(#call);
            }
        }
    }
}
