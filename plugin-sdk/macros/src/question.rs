//! Detects a question in a function whose error type can't carry it, because rustc's error doesn't explain the fix.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use quote::ToTokens;
use syn::{Error, FnArg, GenericArgument, Ident, ImplItemFn, Pat, Path, PathArguments, ReturnType, Type};

use crate::method::is_context;

/// The error for a function that asks the client but returns an error type that can't carry a question. rustc reports
/// other invalid error types.
pub(crate) fn check_error_type(function: &ImplItemFn) -> Option<Error> {
    let context = function.sig.inputs.iter().find_map(context)?;
    let ReturnType::Type(_, returned) = &function.sig.output else { return None };
    let error = error_of(returned)?;
    asks(context, function.block.to_token_stream()).then(|| {
        let message = "this error type can't carry a question, so it would never be asked; return `Result<_, ToolError>`, \
                       to which `?` converts every other error";
        Error::new_spanned(error, message)
    })
}

/// The name of the parameter, if it is the context.
fn context(input: &FnArg) -> Option<&Ident> {
    let FnArg::Typed(typed) = input else { return None };
    match &*typed.pat {
        Pat::Ident(name) if matches!(is_context(&typed.ty), Ok(true)) => Some(&name.ident),
        _ => None, // syn's enum is non-exhaustive
    }
}

/// The error type in the returned `Result`, if it can't carry a question.
fn error_of(returned: &Type) -> Option<&dyn ToTokens> {
    let Type::Path(result) = returned else { return None };
    let last = result.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(given) = &last.arguments else { return None };
    let mut types = given.args.iter().filter_map(|argument| match argument {
        GenericArgument::Type(ty) => Some(ty),
        _ => None, // syn's enum is non-exhaustive
    });
    match (types.next(), types.next()) {
        (Some(_), None) => ["anyhow", "io", "fmt"]
            .iter()
            .any(|of| is_of(&result.path, of))
            .then_some(&result.path as &dyn ToTokens),
        (Some(_), Some(Type::Path(error))) => {
            let name = &error.path.segments.last()?.ident;
            let cannot = ["Box", "String"].iter().any(|known| name == known) || is_of(&error.path, "anyhow");
            cannot.then_some(&error.path as &dyn ToTokens)
        }
        _ => None, // syn's enum is non-exhaustive
    }
}

/// Returns `true` if the last segment of the path is in this module.
fn is_of(path: &Path, module: &str) -> bool {
    path.segments.iter().rev().nth(1).is_some_and(|before| before.ident == module)
}

/// Returns `true` if the code contains `context.ask(…)`.
fn asks(context: &Ident, code: TokenStream) -> bool {
    let code: Vec<TokenTree> = code.into_iter().collect();
    let here = code.windows(4).any(|four| match four {
        [TokenTree::Ident(of), TokenTree::Punct(dot), TokenTree::Ident(asks), TokenTree::Group(with)] => {
            of == context
                && dot.as_char() == '.'
                && (asks == "ask" || asks == "ask_all")
                && with.delimiter() == Delimiter::Parenthesis
        }
        _ => false, // other tokens
    });
    here || code.into_iter().any(|token| match token {
        TokenTree::Group(group) => asks(context, group.stream()),
        TokenTree::Ident(_) | TokenTree::Punct(_) | TokenTree::Literal(_) => false,
    })
}
