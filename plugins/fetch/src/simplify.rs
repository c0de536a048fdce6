//! Converts HTML to Markdown: the main content of a page, extracted like Mozilla's Readability, with absolute URLs.

use dom_query::Document;
use dom_smoothie::{Config, Readability};

use crate::{elements, weight};

/// The main content of a page as Markdown, or an error message.
pub(crate) fn to_markdown(html: &str, url: &str) -> String {
    if let Err(heavy) = weight::check(html) {
        return format!(
            "<error>Page failed to be simplified from HTML: {heavy}. Use `raw` to get it as is.</error>"
        );
    }
    let config = Config { disable_json_ld: true, ..Config::default() };
    let page = Document::from(html);
    elements::separate(&page);
    let article = Readability::with_document(page, Some(url), Some(config)).and_then(|mut page| page.parse());
    let markdown = article.map(|article| {
        let content = Document::fragment(article.content);
        elements::prepare(&content);
        content.root().md(None).trim().to_owned()
    });
    match markdown {
        Ok(markdown) if !markdown.is_empty() => markdown,
        Ok(_) | Err(_) => "<error>Page failed to be simplified from HTML</error>".to_owned(),
    }
}

#[cfg(test)]
mod tests;
