//! `push`: publishes a component in an OCI registry.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

use anyhow::Context as _;
use clap::Args;
use moongate_config::{SourceReference, SourcesConfig};
use moongate_sources::{PublishRequest, SourceSettings, publish};
use serde_json::json;

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::remote_plugins::{settings, source_error};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};
use crate::supervisor::{Supervisor, SupervisorOptions};

/// Publish a component in an OCI registry
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate push hello.wasm oci://ghcr.io/acme/hello:1.0
  minisign -Sm hello.wasm && moongate push hello.wasm oci://ghcr.io/acme/hello:1.0

Credentials come from `skopeo login` or `docker login`. A signature beside the file, `hello.wasm.minisig`, is \
published with it. If you set SOURCE_DATE_EPOCH, the same file always gives the same digest.")]
pub(super) struct Push {
    /// Component file
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Reference with a tag, such as oci://ghcr.io/acme/hello:1.0
    #[arg(value_name = "REFERENCE")]
    reference: String,
    /// Annotation of the manifest, such as org.opencontainers.image.licenses=MIT
    #[arg(long = "annotation", value_name = "KEY=VALUE")]
    annotations: Vec<String>,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

impl Push {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        // The configuration is optional here. It can allow plain HTTP and name certificates.
        let config = configuration::read(common.config.as_deref()).config;
        let sources = config.as_ref().map_or_else(SourcesConfig::default, |config| config.sources.clone());
        let usage =
            |message: &str, hint: &str| CommandError::new(ExitKind::Usage).message(message, Some(hint));
        let reference = match SourceReference::parse(&self.reference, &sources.plain_http) {
            Ok(Some(SourceReference::Oci(reference))) => reference,
            Ok(Some(SourceReference::Web(_)) | None) => {
                return Err(usage(
                    &format!("invalid reference `{}`", print::inline(&self.reference)),
                    "write a registry, a repository and a tag, such as oci://ghcr.io/acme/hello:1.0",
                ));
            }
            Err(error) => return Err(usage(&error.to_string(), &error.hint())),
        };
        let component = std::fs::read(&self.file)
            .with_context(|| format!("can't read the component `{}`", self.file.display()))?;
        let mut signature = self.file.clone().into_os_string();
        signature.push(".minisig");
        let minisign = std::fs::read_to_string(&signature).ok();
        let is_signed = minisign.is_some();
        let described = self.describe().await?;
        let request = PublishRequest {
            reference,
            component,
            exports: described.exports,
            imports: described.imports,
            annotations: self.all_annotations(described.annotations)?,
            minisign,
            created: humantime::format_rfc3339_seconds(time()).to_string(),
        };
        let settings = config.as_ref().map_or_else(SourceSettings::default, settings);
        let published = publish(settings, request).await.map_err(source_error)?;
        match self.format {
            OutputFormat::Text => {
                print::stdout(&format!("{published}\n"))?;
                if is_signed {
                    print::note("the minisign signature beside the file is published too");
                }
            }
            OutputFormat::Json => {
                let digest = published.digest().map(|digest| format!("sha256:{digest}"));
                print::json(
                    &json!({ "reference": published.to_string(), "digest": digest, "signed": is_signed }),
                )?;
            }
        }
        Ok(ExitKind::Success)
    }

    /// Loads the component without grants, so that only plugins are published.
    async fn describe(&self) -> Result<DescribedComponent, CommandError> {
        let config = configuration::bare(&self.file)?;
        let supervisor = Supervisor::start(config, SupervisorOptions::inspecting()).await?;
        let catalog = Arc::clone(&supervisor.catalog().borrow());
        let [plugin] = catalog.plugins() else {
            let failure = CommandError::new(ExitKind::Failure);
            return Err(supervisor.problems().iter().fold(failure, |failure, problem| {
                failure.message(&problem.message, problem.hint.as_deref())
            }));
        };
        let interfaces = plugin.plugin().interfaces().cloned().unwrap_or_default();
        let info = &plugin.plugin().manifest().info;
        let annotations = [
            ("title", Some(info.name.clone())),
            ("version", Some(info.version.clone())),
            ("description", info.description.clone()),
        ];
        let annotations = annotations.into_iter().filter_map(|(key, value)| {
            let value = value.filter(|value| !value.is_empty())?;
            Some((format!("org.opencontainers.image.{key}"), value))
        });
        Ok(DescribedComponent {
            exports: interfaces.exports,
            imports: interfaces.imports,
            annotations: annotations.collect(),
        })
    }

    fn all_annotations(
        &self,
        described: BTreeMap<String, String>,
    ) -> Result<BTreeMap<String, String>, CommandError> {
        let mut annotations = described;
        for annotation in &self.annotations {
            let Some((key, value)) = annotation.split_once('=').filter(|(key, _)| !key.is_empty()) else {
                let message = format!("`{}` isn't an annotation", print::inline(annotation));
                return Err(CommandError::new(ExitKind::Usage).message(&message, Some("write `key=value`")));
            };
            annotations.insert(key.to_owned(), value.to_owned());
        }
        Ok(annotations)
    }
}

/// A component's description of itself.
struct DescribedComponent {
    exports: Vec<String>,
    imports: Vec<String>,
    annotations: BTreeMap<String, String>,
}

/// The time of the artifact (reproducible-builds.org, `SOURCE_DATE_EPOCH`).
fn time() -> SystemTime {
    let epoch = std::env::var("SOURCE_DATE_EPOCH").ok().and_then(|seconds| seconds.parse().ok());
    let fixed = epoch.and_then(|seconds| SystemTime::UNIX_EPOCH.checked_add(Duration::from_secs(seconds)));
    fixed.unwrap_or_else(SystemTime::now)
}
