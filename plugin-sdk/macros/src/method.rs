//! The signature of one function: what the macro can call, and what is wrong with the rest.

use std::fmt;

use proc_macro2::{Span, TokenStream, TokenTree};
use quote::{ToTokens, quote, quote_spanned};
use syn::ext::IdentExt;
use syn::spanned::Spanned;
use syn::{Attribute, Error, FnArg, Ident, ImplItemFn, Pat, PatType, ReturnType, Type};

use crate::{docs, question};

/// What a function is to the plugin.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Tool,
    Resource,
    Prompt,
    Completion,
}

impl Kind {
    /// The attribute that says so.
    pub(crate) fn of(attribute: &Attribute) -> Option<Self> {
        let kinds = [
            ("tool", Self::Tool),
            ("resource", Self::Resource),
            ("prompt", Self::Prompt),
            ("complete", Self::Completion),
        ];
        let name = &attribute.path().segments.last()?.ident;
        kinds.into_iter().find(|(word, _)| name == word).map(|(_, kind)| kind)
    }
}

impl fmt::Display for Kind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Tool => "tool",
            Self::Resource => "resource",
            Self::Prompt => "prompt",
            Self::Completion => "completion",
        })
    }
}

/// A function that the macro will call.
pub(crate) struct Method {
    pub(crate) ident: Ident,
    pub(crate) description: String,
    /// `#[cfg(…)]`, to be repeated on everything that mentions the function.
    pub(crate) cfgs: Vec<Attribute>,
    pub(crate) params: Vec<Param>,
    pub(crate) output: TokenStream,
    pub(crate) output_span: Span,
    on_self: bool,
}

/// One parameter after `self`.
pub(crate) enum Param {
    /// `&Context`.
    Context,
    /// All arguments as one object.
    Args(Box<Args>),
    /// One argument.
    One(Box<One>),
}

/// The whole object.
pub(crate) struct Args {
    pub(crate) ty: Type,
    /// The function takes a reference to it.
    borrowed: bool,
}

/// One argument.
pub(crate) struct One {
    pub(crate) ident: Ident,
    /// What the argument is read as: for `&str`, a `String`.
    pub(crate) ty: Type,
    /// The function takes a reference to it.
    pub(crate) borrowed: bool,
    pub(crate) description: Option<String>,
    /// `#[doc]`, `#[serde]` and `#[schemars]`.
    pub(crate) attributes: Vec<Attribute>,
}

impl Method {
    /// Reads `function`, takes the attributes of its parameters out, and puts what is wrong with it into `errors`.
    pub(crate) fn read(function: &mut ImplItemFn, what: Kind, errors: &mut Vec<Error>) -> Self {
        let signature = &function.sig;
        if let Some(word) = &signature.asyncness {
            errors.push(Error::new_spanned(word, format!(
                "a {what} can't be `async`: every call has a sandbox of its own, so waiting in it holds up nobody else; \
                 write a plain `fn`"
            )));
        }
        if !signature.generics.params.is_empty() {
            errors.push(Error::new_spanned(
                &signature.generics,
                format!("a {what} can't be generic: clients are told one form of it; name the types"),
            ));
        }
        let description = docs::text(&function.attrs).unwrap_or_default();
        if description.is_empty() && what != Kind::Completion {
            errors.push(Error::new(signature.ident.span(), format!(
                "this {what} needs a doc comment, which is the description by which models and people choose it: write \
                 `/// …` above it"
            )));
        }
        let cfgs =
            function.attrs.iter().filter(|attribute| attribute.path().is_ident("cfg")).cloned().collect();
        let (output, output_span) = match &signature.output {
            ReturnType::Default => (quote!(()), signature.ident.span()),
            ReturnType::Type(_, ty) => {
                if let Type::ImplTrait(_) = **ty {
                    errors.push(Error::new_spanned(
                        ty,
                        format!("a {what} can't return `impl …`: name the type, such as `String`"),
                    ));
                }
                (ty.to_token_stream(), ty.span())
            }
        };
        errors.extend(question::lost(function));
        let ident = function.sig.ident.clone();
        let (on_self, params) = read_params(function, what, errors);
        Self { ident, description, cfgs, params, output, output_span, on_self }
    }

    /// The arguments that stand for themselves.
    pub(crate) fn ones(&self) -> impl Iterator<Item = &One> {
        self.params.iter().filter_map(|param| match param {
            Param::One(one) => Some(&**one),
            Param::Context | Param::Args(_) => None,
        })
    }

    /// The type of the whole object, where the function takes it.
    pub(crate) fn args(&self) -> Option<&Type> {
        self.params.iter().find_map(|param| match param {
            Param::Args(args) => Some(&args.ty),
            Param::Context | Param::One(_) => None,
        })
    }

    /// The call, with `ctx` for the context, `whole` for the whole object and `one` for each argument.
    pub(crate) fn call(&self, whole: &TokenStream, mut one: impl FnMut(&One) -> TokenStream) -> TokenStream {
        let ident = &self.ident;
        let values = self.params.iter().map(|param| match param {
            Param::Context => quote!(ctx),
            Param::Args(args) if args.borrowed => quote!(&#whole),
            Param::Args(_) => whole.clone(),
            Param::One(argument) => {
                let value = one(argument);
                if argument.borrowed { quote!(&#value) } else { value }
            }
        });
        let target = if self.on_self { quote!(self.) } else { quote!(Self::) };
        quote_spanned!(ident.span()=> #target #ident(#(#values),*))
    }
}

fn read_params(function: &mut ImplItemFn, what: Kind, errors: &mut Vec<Error>) -> (bool, Vec<Param>) {
    let mut on_self = false;
    let mut params: Vec<Param> = Vec::new();
    for input in &mut function.sig.inputs {
        match input {
            FnArg::Receiver(receiver) => {
                on_self = true;
                if receiver.mutability.is_some() && receiver.reference.is_some() {
                    errors.push(Error::new_spanned(&*receiver, format!(
                        "a {what} can't take `&mut self`: every call gets a plugin of its own, so a change would be \
                         lost; take `&self`"
                    )));
                } else if receiver.reference.is_none() {
                    errors.push(Error::new_spanned(
                        &*receiver,
                        format!("a {what} can't take `self`: take `&self`"),
                    ));
                }
            }
            FnArg::Typed(typed) => match read_param(typed) {
                Ok(param) => params.push(param),
                Err(error) => errors.push(error),
            },
        }
    }
    let whole = params.iter().any(|param| matches!(param, Param::Args(_)));
    if let Some(Param::One(one)) = params.iter().find(|param| matches!(param, Param::One(_)))
        && whole
    {
        let message = format!(
            "`args` is the whole object of arguments, so `{}` can't be another one; make it a field",
            one.ident.unraw()
        );
        errors.push(Error::new(one.ident.span(), message));
    }
    (on_self, params)
}

fn read_param(typed: &mut PatType) -> Result<Param, Error> {
    let attributes = std::mem::take(&mut typed.attrs);
    if is_context(&typed.ty)? {
        return Ok(Param::Context);
    }
    refuse_type(&typed.ty)?;
    let owned = owner(&typed.ty);
    let borrowed = owned.is_some();
    let ty = owned.unwrap_or_else(|| (*typed.ty).clone());
    let whole = Param::Args(Box::new(Args { ty: ty.clone(), borrowed }));
    let ident = match &*typed.pat {
        Pat::Ident(pattern) if pattern.subpat.is_none() && pattern.by_ref.is_none() => pattern.ident.clone(),
        Pat::Struct(_) | Pat::TupleStruct(_) => return Ok(whole),
        other => return Err(Error::new_spanned(other, "an argument needs a name")),
    };
    if ident == "args" {
        refuse_no_object(&ty, &typed.ty)?;
        return Ok(whole);
    }
    let ours = |attribute: &Attribute| {
        ["doc", "serde", "schemars"].iter().any(|name| attribute.path().is_ident(name))
    };
    if let Some(foreign) = attributes.iter().find(|attribute| !ours(attribute)) {
        return Err(Error::new_spanned(
            foreign,
            "a parameter can have doc comments, `#[serde]` and `#[schemars]`",
        ));
    }
    Ok(Param::One(Box::new(One { ident, ty, borrowed, description: docs::text(&attributes), attributes })))
}

/// Is it `&Context`, by whatever path? The context is lent, so no other form of it can be taken.
pub(crate) fn is_context(ty: &Type) -> Result<bool, Error> {
    let (inner, lent) = match ty {
        Type::Reference(reference) => (&*reference.elem, reference.mutability.is_none()),
        other => (other, false),
    };
    let Type::Path(path) = inner else { return Ok(false) };
    match path.path.segments.last() {
        Some(last) if last.ident == "Context" && last.arguments.is_none() => {
            if lent {
                return Ok(true);
            }
            Err(Error::new_spanned(ty, "the context is the gateway's, and only lent: take `&Context`"))
        }
        Some(_) | None => Ok(false),
    }
}

/// Arguments are read into values that the call owns, of types that have one form.
fn refuse_type(ty: &Type) -> Result<(), Error> {
    match ty {
        Type::ImplTrait(_) => {
            let message = "an argument can't be `impl …`: clients are told one form of it; name the type";
            Err(Error::new_spanned(ty, message))
        }
        Type::Reference(reference) if reference.mutability.is_some() => Err(Error::new_spanned(
            ty,
            "an argument can't be `&mut`: nobody would see what is written; take it by value, or as `&`",
        )),
        Type::Reference(reference) => refuse_borrowed(&reference.elem),
        other => refuse_borrowed(other),
    }
}

fn refuse_borrowed(ty: &Type) -> Result<(), Error> {
    fn borrows(tokens: TokenStream) -> bool {
        let mut tokens = tokens.into_iter();
        while let Some(token) = tokens.next() {
            let found = match token {
                TokenTree::Punct(punct) if punct.as_char() == '\'' => {
                    !matches!(tokens.next(), Some(TokenTree::Ident(name)) if name == "static")
                }
                TokenTree::Punct(punct) => punct.as_char() == '&',
                TokenTree::Group(group) => borrows(group.stream()),
                TokenTree::Ident(_) | TokenTree::Literal(_) => false,
            };
            if found {
                return true;
            }
        }
        false
    }
    if !borrows(ty.to_token_stream()) {
        return Ok(());
    }
    let message =
        "an argument can't hold a reference: write the type that owns the value, such as `String` for `&str`";
    Err(Error::new_spanned(ty, message))
}

/// `args` stands for all arguments, which are an object.
fn refuse_no_object(ty: &Type, written: &Type) -> Result<(), Error> {
    const NO_OBJECTS: &[&str] = &[
        "String", "str", "bool", "char", "u8", "u16", "u32", "u64", "u128", "usize", "i8", "i16", "i32",
        "i64", "i128", "isize", "f32", "f64", "Vec", "Option",
    ];
    let object = match ty {
        Type::Path(path) => {
            !path.path.segments.last().is_some_and(|last| NO_OBJECTS.iter().any(|name| last.ident == name))
        }
        Type::Tuple(_) | Type::Array(_) => false,
        _ => true, // syn's enum, and rustc's to judge
    };
    if object {
        return Ok(());
    }
    let message = format!(
        "`args` is the whole object of arguments, which `{}` can't be: give a single argument another name, or write a \
         struct",
        written.to_token_stream().to_string().replace(' ', "")
    );
    Err(Error::new_spanned(written, message))
}

/// The type that owns what a reference borrows: arguments are read into it.
fn owner(ty: &Type) -> Option<Type> {
    let Type::Reference(reference) = ty else { return None };
    Some(match &*reference.elem {
        Type::Path(path) if path.path.is_ident("str") => syn::parse_quote!(::std::string::String),
        Type::Slice(slice) => {
            let item = &slice.elem;
            syn::parse_quote!(::std::vec::Vec<#item>)
        }
        other => other.clone(),
    })
}
