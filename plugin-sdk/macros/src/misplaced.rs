//! Attributes where they mean nothing, and what belongs there.

use proc_macro2::{Span, TokenStream};
use quote::quote;
use syn::{Attribute, Error, FnArg, ImplItem, ImplItemFn, Item};

use crate::method::Kind;

/// `#[tool]` and its like where no `#[plugin]` has read them: the item as it is, and an error.
pub(crate) fn mark(name: &str, item: &TokenStream) -> TokenStream {
    let (item, place, message) = match syn::parse2::<ImplItemFn>(item.clone()) {
        Ok(mut function) => {
            // Those of its parameters mean nothing either; one error is enough.
            for input in &mut function.sig.inputs {
                if let FnArg::Typed(typed) = input {
                    typed.attrs.clear();
                }
            }
            let message = if function.sig.receiver().is_some() {
                format!(
                    "nothing reads `#[{name}]` here: put `#[plugin]` above the `impl` block of this function"
                )
            } else {
                format!(
                    "nothing reads `#[{name}]` here: put `#[plugin]` above the `impl` block of this function, or move it \
                     into such a block"
                )
            };
            (quote!(#function), function.sig.ident.span(), message)
        }
        Err(_) if matches!(syn::parse2::<Item>(item.clone()), Ok(Item::Impl(_))) => (
            item.clone(),
            beginning(item),
            format!(
                "`#[{name}]` marks a function; put `#[plugin]` above the `impl` block, and `#[{name}]` into it"
            ),
        ),
        Err(_) => (item.clone(), beginning(item), no_function(name)),
    };
    let error = Error::new(place, message).to_compile_error();
    quote!(#item #error)
}

/// What is wrong with the marks of something that is no function; they are taken away.
pub(crate) fn marks_of(item: &mut ImplItem) -> Option<Error> {
    let attributes = match item {
        ImplItem::Const(item) => &mut item.attrs,
        ImplItem::Type(item) => &mut item.attrs,
        ImplItem::Macro(item) => &mut item.attrs,
        _ => return None, // syn's enum
    };
    let (marks, rest): (Vec<Attribute>, _) =
        std::mem::take(attributes).into_iter().partition(|attribute| Kind::of(attribute).is_some());
    *attributes = rest;
    let mark = marks.first()?;
    let name = &mark.path().segments.last()?.ident;
    Some(Error::new_spanned(mark, no_function(&name.to_string())))
}

/// What is wrong with `#[plugin]` above this.
pub(crate) fn plugin(item: &TokenStream) -> Error {
    let (place, message) = match syn::parse2::<Item>(item.clone()) {
        Ok(Item::Struct(item)) => (item.ident, "not above the type: move it to the block with the functions"),
        Ok(Item::Enum(item)) => (item.ident, "not above the type: move it to the block with the functions"),
        Ok(Item::Fn(item)) => {
            (item.sig.ident, "and `#[tool]` above a function in it: move the function into such a block")
        }
        Ok(Item::Mod(item)) => (item.ident, "not above a module: move it to the block with the functions"),
        Ok(Item::Trait(item)) => (item.ident, "not above a trait: move it to a block with functions"),
        Ok(_) => {
            let message = "`#[plugin]` stands above an `impl` block: move it to the one with the functions";
            return Error::new_spanned(item, message);
        }
        // An `impl` block that syn can't read.
        Err(error) => return error,
    };
    Error::new(place.span(), format!("`#[plugin]` stands above an `impl` block, {message}"))
}

fn beginning(item: &TokenStream) -> Span {
    item.clone().into_iter().next().map_or_else(Span::call_site, |token| token.span())
}

fn no_function(name: &str) -> String {
    format!("`#[{name}]` marks a function in an `impl` block with `#[plugin]` above it; this is none")
}
