//! HAProxy in front of several gateways, with the configuration of docs/scaling.md.

use std::fs;
use std::net::TcpListener;
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};

use crate::install::{MissingTool, program_path};
use crate::project::Project;
use crate::server::Server;

/// The page with the configuration.
const PAGE: &str = "docs/scaling.md";

/// Its listener.
const BIND: &str = "bind :443 ssl crt /etc/haproxy/gateway.pem alpn h2,http/1.1";

/// Starts HAProxy without TLS in front of gateways. Its configuration is written to `file`.
pub(crate) fn start(
    project: &Project,
    file: &Path,
    gateways: &[Server],
) -> Result<Result<Server, MissingTool>> {
    let Some(program) = program_path("haproxy") else { return Ok(Err(MissingTool::HaProxy)) };
    let page = project.root().join(PAGE);
    let page = fs::read_to_string(&page).with_context(|| format!("can't read `{}`", page.display()))?;
    let urls: Vec<&str> = gateways.iter().map(|gateway| gateway.url.as_str()).collect();
    fs::write(file, config(&page, &urls)?).with_context(|| format!("can't write `{}`", file.display()))?;
    let mut command = Command::new(program);
    command.arg("-db").arg("-f").arg(file);
    let listener = TcpListener::bind("127.0.0.1:0").context("no free port")?;
    Server::start_on(command, listener).map(Ok)
}

/// The configuration in a page, with another listener, and with these gateways.
fn config(page: &str, urls: &[&str]) -> Result<String> {
    let (_, rest) =
        page.split_once("```haproxy\n").with_context(|| format!("`{PAGE}` has no configuration"))?;
    let (recipe, _) = rest.split_once("```").context("the configuration doesn't end")?;
    ensure!(recipe.contains(BIND), "the configuration has another listener than `{BIND}`");
    let mut config: String = recipe
        .lines()
        .filter(|line| !line.trim_start().starts_with("server "))
        .map(|line| format!("{}\n", line.replace(BIND, "bind fd@0")))
        .collect();
    ensure!(recipe.trim_end().lines().last().is_some_and(|line| line.contains("server ")));
    for (number, url) in urls.iter().enumerate() {
        let address = url.trim_start_matches("http://").trim_end_matches("/mcp");
        config += &format!("    server gateway{number} {address}\n");
    }
    Ok(config)
}

#[cfg(test)]
mod tests {
    use super::config;

    #[test]
    fn replaces_the_listener_and_the_gateways() {
        let page = "a\n```haproxy\nfrontend f\n    bind :443 ssl crt /etc/haproxy/gateway.pem alpn h2,http/1.1\n\
                    backend b\n    server one 10.0.0.11:8931\n```\nb\n";
        let found = config(page, &["http://127.0.0.1:1/mcp", "http://127.0.0.1:2/mcp"]).unwrap();
        let expected = "frontend f\n    bind fd@0\nbackend b\n    server gateway0 127.0.0.1:1\n    \
                        server gateway1 127.0.0.1:2\n";
        assert_eq!(found, expected);
        assert!(config("no configuration", &[]).is_err());
    }
}
