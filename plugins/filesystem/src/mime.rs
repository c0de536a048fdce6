//! Media types by file extension.

/// The media type for `read_media_file`, as in the official server.
pub(crate) fn of_media(path: &str) -> &'static str {
    match ending(path).as_str() {
        "png" => "image/png",
        "jpg" | "jpeg" => "image/jpeg",
        "gif" => "image/gif",
        "webp" => "image/webp",
        "bmp" => "image/bmp",
        "svg" => "image/svg+xml",
        "mp3" => "audio/mpeg",
        "wav" => "audio/wav",
        "ogg" => "audio/ogg",
        "flac" => "audio/flac",
        _ => UNKNOWN,
    }
}

const UNKNOWN: &str = "application/octet-stream";

/// The media type of a resource.
pub(crate) fn of_resource(path: &str, is_text: bool) -> &'static str {
    match ending(path).as_str() {
        "md" | "markdown" => "text/markdown",
        "html" | "htm" => "text/html",
        "css" => "text/css",
        "csv" => "text/csv",
        "js" | "mjs" => "text/javascript",
        "json" => "application/json",
        "xml" => "application/xml",
        "yaml" | "yml" => "application/yaml",
        "toml" => "application/toml",
        "pdf" => "application/pdf",
        "zip" => "application/zip",
        "gz" => "application/gzip",
        "wasm" => "application/wasm",
        "ico" => "image/x-icon",
        "avif" => "image/avif",
        "mp4" => "video/mp4",
        "webm" => "video/webm",
        _ => match of_media(path) {
            UNKNOWN if is_text => "text/plain",
            known => known,
        },
    }
}

/// The file extension in lower case. A name with only a leading dot has none.
fn ending(path: &str) -> String {
    let name = path.rsplit('/').next().unwrap_or(path);
    match name.rsplit_once('.') {
        Some((stem, ending)) if !stem.is_empty() => ending.to_ascii_lowercase(),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests;
