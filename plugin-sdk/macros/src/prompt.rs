//! `#[prompt]`: the generated list entry, and the match arm of `get_prompt`.

use proc_macro2::TokenStream;
use quote::{quote, quote_spanned};
use syn::ext::IdentExt;
use syn::{LitStr, Result};

use crate::method::{self, Method};
use crate::options::{self, Options};
use crate::tool::{listed, optional};

/// A parsed prompt.
pub(crate) struct Prompt {
    pub(crate) name: LitStr,
    method: Method,
    title: TokenStream,
    when: Option<TokenStream>,
}

impl Prompt {
    pub(crate) fn read(method: Method, tokens: TokenStream) -> Result<Self> {
        let options = Options::parse(tokens, method.ident.span(), &["name", "title", "when"])?;
        let name = options::name(&options, &method.ident)?;
        options::check_name(&name)?;
        let title = optional(options.text("title")?);
        let when = options.when()?;
        Ok(Self { name, method, title, when })
    }

    /// Returns `true` if the prompt has this argument, or could have it in `args`.
    pub(crate) fn takes(&self, argument: &str) -> bool {
        self.method.args().is_some() || self.method.arguments().any(|own| own.ident.unraw() == argument)
    }

    /// The code of the list entry.
    pub(crate) fn entry(&self) -> TokenStream {
        let Self { name, method, title, when } = self;
        let Method { description, cfgs, .. } = method;
        let args = if let Some(ty) = method.args() {
            quote!(::moongate_sdk::expansion::prompt_arguments::<#ty>())
        } else {
            let ones = method.arguments().map(|argument| {
                let method::Argument { ident, ty, description, .. } = argument;
                let name = ident.unraw().to_string();
                let description = match description {
                    Some(text) => quote!(::core::option::Option::Some(#text)),
                    None => quote!(::core::option::Option::None),
                };
                quote!(::moongate_sdk::expansion::ListType::<#ty>::new().argument_of_prompt(#name, #description))
            });
            quote!(::std::vec![#(#ones),*])
        };
        let prompt = quote! {
            ::moongate_sdk::Prompt {
                title: #title,
                ..::moongate_sdk::Prompt::new(#name, #description, #args)
            }
        };
        listed(cfgs, when.as_ref(), &prompt)
    }

    /// The match arm of `get_prompt`.
    pub(crate) fn arm(&self) -> TokenStream {
        let Self { name, method, .. } = self;
        let cfgs = &method.cfgs;
        let whole = method.args().map(|ty| quote!(::moongate_sdk::expansion::prompt_values::<#ty>(args)?));
        let call = method.call(&whole.unwrap_or_default(), |argument| {
            let method::Argument { ident, ty, .. } = argument;
            let name = ident.unraw().to_string();
            quote!(::moongate_sdk::expansion::prompt_value::<#ty>(args, #name)?)
        });
        let output = &method.output;
        let prompted = quote_spanned!(method.output_span=> ::moongate_sdk::expansion::prompted::<#output>);
        quote! {
            #(#cfgs)*
            #name => #prompted(
                (|| ::core::result::Result::<_, ::moongate_sdk::ToolError>::Ok(#call))()
            ),
        }
    }
}
