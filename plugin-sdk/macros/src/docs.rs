//! Doc comments as descriptions.

use syn::{Attribute, Expr, ExprLit, Lit, Meta};

/// The text of a doc comment, without the leading space of each line. `None` if it is empty.
pub(crate) fn text(attributes: &[Attribute]) -> Option<String> {
    let mut lines = Vec::new();
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("doc")) {
        let Meta::NameValue(doc) = &attribute.meta else { continue };
        if let Expr::Lit(ExprLit { lit: Lit::Str(text), .. }) = &doc.value {
            lines.extend(text.value().split('\n').map(str::to_owned));
        }
    }
    // `/// text` starts with one space; lines of `/** … */` can have more.
    let indent = lines
        .iter()
        .filter(|line| !line.trim().is_empty())
        .map(|line| line.len() - line.trim_start().len())
        .min();
    let lines: Vec<&str> =
        lines.iter().map(|line| line.get(indent.unwrap_or(0)..).unwrap_or("").trim_end()).collect();
    let text = lines.join("\n").trim_matches('\n').to_owned();
    (!text.is_empty()).then_some(text)
}
