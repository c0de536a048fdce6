//! Converts HTML to Markdown: the main content of a page, extracted like Mozilla's Readability, with absolute URLs.

use dom_smoothie::{Config, Readability, TextMode};

use crate::weight;

/// The main content of a page as Markdown, or an error message.
pub(crate) fn to_markdown(html: &str, url: &str) -> String {
    if let Err(heavy) = weight::check(html) {
        return format!(
            "<error>Page failed to be simplified from HTML: {heavy}. Use `raw` to get it as is.</error>"
        );
    }
    let config = Config { text_mode: TextMode::Markdown, disable_json_ld: true, ..Config::default() };
    let article = Readability::new(html, Some(url), Some(config)).and_then(|mut page| page.parse());
    match article {
        Ok(article) if !article.text_content.trim().is_empty() => article.text_content.trim().to_owned(),
        Ok(_) | Err(_) => "<error>Page failed to be simplified from HTML</error>".to_owned(),
    }
}

#[cfg(test)]
mod tests;
