//! `#[plugin]`: reads the block, and writes either the plugin or everything that is wrong with it.

use proc_macro2::TokenStream;
use quote::{ToTokens, quote};
use syn::{Error, ItemImpl, Result};

use crate::docs;
use crate::offers::Offers;
use crate::options::Options;

const OPTIONS: &[&str] =
    &["name", "version", "title", "description", "website_url", "instructions", "config"];

/// A block that the macro can't make a plugin of.
struct Refused {
    /// The block without the marks.
    block: TokenStream,
    /// All that is wrong with it.
    errors: Vec<Error>,
}

/// `#[plugin(options)] block`.
pub(crate) fn expand(options: TokenStream, block: &TokenStream) -> TokenStream {
    read(options, block).unwrap_or_else(|Refused { block, errors }| {
        let errors = errors.iter().map(Error::to_compile_error);
        quote!(#block #(#errors)*)
    })
}

/// What an attribute says that stands outside of a block.
pub(crate) fn misplaced(name: &str, item: &TokenStream) -> TokenStream {
    let message = format!("`#[{name}]` works inside an `impl` block marked `#[plugin]`");
    let error = Error::new_spanned(item, message).to_compile_error();
    quote!(#item #error)
}

fn read(options: TokenStream, block: &TokenStream) -> std::result::Result<TokenStream, Refused> {
    let Ok(mut item) = syn::parse2::<ItemImpl>(block.clone()) else {
        let error = Error::new_spanned(block, "`#[plugin]` stands above an `impl` block");
        return Err(Refused { block: block.clone(), errors: vec![error] });
    };
    let mut errors = Vec::new();
    if let Some((_, path, _)) = &item.trait_ {
        let message = "`#[plugin]` stands above a plain `impl` block, not one of a trait";
        errors.push(Error::new_spanned(path, message));
    }
    if !item.generics.params.is_empty() {
        errors.push(Error::new_spanned(&item.generics, "a plugin can't be generic: it is one component"));
    }
    let can_be_plugin = errors.is_empty();
    let offers = Offers::read(&mut item, &mut errors);
    let info = info(options, &item).unwrap_or_else(|error| {
        errors.push(error);
        TokenStream::new()
    });
    if errors.is_empty() && offers.is_empty() {
        let message = "the plugin offers nothing; mark a function `#[tool]`, `#[resource]` or `#[prompt]`";
        errors.push(Error::new_spanned(&item.self_ty, message));
    }
    let plugin = &item.self_ty;
    if errors.is_empty() {
        let implementation = offers.implementation(plugin, &info);
        return Ok(quote!(#item #implementation));
    }
    // An empty implementation goes with the block, so that the author isn't told of its absence too.
    let stand_in = can_be_plugin.then(|| {
        quote! {
            impl ::moongate_sdk::Plugin for #plugin {
                fn info() -> ::moongate_sdk::PluginInfo { ::core::unreachable!() }
            }
        }
    });
    Err(Refused { block: quote!(#item #stand_in), errors })
}

/// What the plugin says of itself.
fn info(options: TokenStream, item: &ItemImpl) -> Result<TokenStream> {
    let span = syn::spanned::Spanned::span(&item.self_ty);
    let options = Options::parse(options, span, OPTIONS)?;
    let given = |key: &str| options.expr(key).map(|value| value.map(ToTokens::to_token_stream));
    let name = given("name")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_NAME")));
    let version = given("version")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_VERSION")));
    let description = match (given("description")?, docs::text(&item.attrs)) {
        (Some(text), _) => text,
        (None, Some(text)) => quote!(#text),
        (None, None) => quote!(::core::env!("CARGO_PKG_DESCRIPTION")),
    };
    let website = given("website_url")?.unwrap_or_else(|| quote!(::core::env!("CARGO_PKG_HOMEPAGE")));
    let text = |text: TokenStream| quote!(::moongate_sdk::expansion::text(#text));
    let title = text(given("title")?.unwrap_or_else(|| quote!("")));
    let instructions = text(given("instructions")?.unwrap_or_else(|| quote!("")));
    let (description, website) = (text(description), text(website));
    let config = match options.expr("config")? {
        Some(ty) => quote!(::core::option::Option::Some(::moongate_sdk::expansion::input_schema::<#ty>())),
        None => quote!(::core::option::Option::None),
    };
    Ok(quote! {
        ::moongate_sdk::PluginInfo {
            title: #title,
            description: #description,
            website_url: #website,
            instructions: #instructions,
            config_schema: #config,
            ..::moongate_sdk::PluginInfo::new(#name, #version)
        }
    })
}

#[cfg(test)]
mod tests;
