//! `#[tool]`: the generated list entry, and the match arm of `call_tool`.

use proc_macro2::TokenStream;
use quote::{format_ident, quote, quote_spanned};
use syn::spanned::Spanned as _;
use syn::{Attribute, Error, LitStr, Result};

use crate::method::{self, Method};
use crate::options::{self, Options};

const OPTIONS: &[&str] = &[
    "name",
    "title",
    "read_only",
    "destructive",
    "idempotent",
    "open_world",
    "output",
    "input_schema",
    "output_schema",
    "when",
];

/// A parsed tool.
pub(crate) struct Tool {
    pub(crate) name: LitStr,
    method: Method,
    title: TokenStream,
    hints: TokenStream,
    input_schema: Option<TokenStream>,
    output_schema: Option<TokenStream>,
    when: Option<TokenStream>,
}

impl Tool {
    pub(crate) fn read(method: Method, tokens: TokenStream) -> Result<Self> {
        let options = Options::parse(tokens, method.ident.span(), OPTIONS)?;
        let name = options::name(&options, &method.ident)?;
        options::check_name(&name)?;
        let title = optional(options.text("title")?);
        let mut hints = Vec::new();
        for key in ["read_only", "destructive", "idempotent", "open_world"] {
            hints.push(match options.flag(key)? {
                Some(value) => quote!(::core::option::Option::Some(#value)),
                None => quote!(::core::option::Option::None),
            });
        }
        let hints = quote!(::moongate_sdk::expansion::hints(#(#hints),*));
        let input_schema =
            options.expr("input_schema")?.map(|text| quote!(::std::string::String::from(#text)));
        let output = options.expr("output")?;
        let output_schema = match options.expr("output_schema")? {
            Some(text) if output.is_some() => {
                return Err(Error::new_spanned(
                    text,
                    "`output` and `output_schema` are redundant; remove one",
                ));
            }
            Some(text) => Some(quote!(::core::option::Option::Some(::std::string::String::from(#text)))),
            None => output.map(
                |ty| quote!(::core::option::Option::Some(::moongate_sdk::expansion::output_schema::<#ty>())),
            ),
        };
        let when = options.when()?;
        Ok(Self { name, method, title, hints, input_schema, output_schema, when })
    }

    /// The struct into which the arguments are deserialized.
    pub(crate) fn arguments(&self) -> TokenStream {
        if self.method.arguments().next().is_none() {
            return TokenStream::new();
        }
        let Method { cfgs, .. } = &self.method;
        let fields = self.method.arguments().map(|argument| {
            let method::Argument { ident, ty, attributes, .. } = argument;
            quote!(#(#attributes)* #ident: #ty)
        });
        // The error of `derive` only says that a type has no schema; this one explains the fix.
        let described = self.method.arguments().map(|argument| {
            let ty = &argument.ty;
            quote_spanned!(ty.span()=> ::moongate_sdk::expansion::described::<#ty>();)
        });
        let ident = self.struct_ident();
        quote! {
            #(#cfgs)*
            const _: fn() = || { #(#described)* };
            #(#cfgs)*
            #[allow(non_camel_case_types, reason = "named after the function")]
            #[derive(::moongate_sdk::serde::Deserialize, ::moongate_sdk::schemars::JsonSchema)]
            #[serde(crate = "::moongate_sdk::serde", deny_unknown_fields)]
            #[schemars(crate = "::moongate_sdk::schemars")]
            struct #ident { #(#fields),* }
        }
    }

    /// The code of the list entry.
    pub(crate) fn entry(&self) -> TokenStream {
        let Self { name, method, title, hints, .. } = self;
        let Method { description, cfgs, output, output_span, .. } = method;
        let input_schema = self.input_schema.clone().unwrap_or_else(|| match method.args() {
            Some(ty) => quote!(::moongate_sdk::expansion::input_schema::<#ty>()),
            None if method.arguments().next().is_none() => quote!(::moongate_sdk::expansion::no_arguments()),
            None => {
                let ident = self.struct_ident();
                quote!(::moongate_sdk::expansion::input_schema::<#ident>())
            }
        });
        let output_schema = self.output_schema.clone().unwrap_or_else(
            || quote_spanned!(*output_span=> ::moongate_sdk::expansion::ListType::<#output>::new().result_schema()),
        );
        let tool = quote! {
            ::moongate_sdk::Tool {
                title: #title,
                output_schema: #output_schema,
                annotations: #hints,
                ..::moongate_sdk::Tool::new(#name, #description, #input_schema)
            }
        };
        listed(cfgs, self.when.as_ref(), &tool)
    }

    /// The match arm of `call_tool`.
    pub(crate) fn arm(&self) -> TokenStream {
        let Self { name, method, .. } = self;
        let cfgs = &method.cfgs;
        let call = method.call(&quote!(values), |argument| {
            let ident = &argument.ident;
            quote!(values.#ident)
        });
        let ty = match method.args() {
            Some(ty) => Some(quote!(#ty)),
            None if method.arguments().next().is_none() => None,
            None => {
                let ident = self.struct_ident();
                Some(quote!(#ident))
            }
        };
        let value = match ty {
            Some(ty) => quote!(::moongate_sdk::expansion::arguments::<#ty>(args).map(|values| #call)),
            None => quote!(::core::result::Result::Ok(#call)),
        };
        let output = &method.output;
        let called = quote_spanned!(method.output_span=> ::moongate_sdk::expansion::called::<#output>);
        quote!(#(#cfgs)* #name => #called(#value),)
    }

    /// The match arm of `has_tool`.
    pub(crate) fn name_arm(&self) -> TokenStream {
        let name = &self.name;
        let cfgs = &self.method.cfgs;
        quote!(#(#cfgs)* #name => true,)
    }

    fn struct_ident(&self) -> syn::Ident {
        format_ident!("ArgumentsOf_{}", syn::ext::IdentExt::unraw(&self.method.ident))
    }
}

/// The code that adds an entry to its list, if `when` allows it.
pub(crate) fn listed(cfgs: &[Attribute], when: Option<&TokenStream>, entry: &TokenStream) -> TokenStream {
    match when {
        None => quote!(#(#cfgs)* list.push(#entry);),
        Some(when) => quote!(#(#cfgs)* { if (#when)(self) { list.push(#entry); } }),
    }
}

/// `Some("…".to_owned())` or `None`.
pub(crate) fn optional(text: Option<LitStr>) -> TokenStream {
    match text {
        Some(text) => quote!(::core::option::Option::Some(::std::string::String::from(#text))),
        None => quote!(::core::option::Option::None),
    }
}
