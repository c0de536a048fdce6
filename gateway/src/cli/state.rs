//! `state`: shows plugins' state, and copies it between a directory and the shared store.

use std::io::{self, BufRead as _, BufReader, Read};
use std::path::PathBuf;
use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use clap::{Args, Subcommand};
use moongate_host::StateLocation;
use moongate_model::state::{
    MAX_KEY_BYTES, MAX_VALUE_BYTES, StateBackend, StateDiagnostic, StateError, StateOwner,
};
use moongate_store::SharedStore;
use serde_json::{Map, Value, json};

use crate::cli::error::{CommandError, CommandResult};
use crate::cli::{CommonOptions, ExitKind, OutputFormat, configuration, print};

/// The longest line of an import: a value as text whose every byte is escaped, and its key.
const MAX_LINE_BYTES: u64 = 8 << 20;

/// The limit on the size of an owner's state, which doesn't apply to operators.
const NO_LIMIT: u64 = i64::MAX as u64;

/// Show plugins' state, and copy it to a file and back
#[derive(Debug, Args)]
#[command(after_help = "\
Examples:
  moongate state list
  moongate state export > state.jsonl
  moongate state export --state-dir state | moongate state import    from a directory to `[store]`

The state is that of `gateway.toml`: in the shared store if there is `[store]`, otherwise in the directory `state`. An \
owner is a plugin, such as `plugin:notes`, or a name that plugins share, such as `name:team`. An owner for one \
caller ends with its name, such as `plugin:notes/token:ann`.")]
pub(super) struct StateTool {
    #[command(subcommand)]
    verb: StateVerb,
}

#[derive(Debug, Subcommand)]
enum StateVerb {
    List(ListState),
    Get(GetState),
    Export(ExportState),
    Import(ImportState),
    #[command(name = "rm", alias = "remove")]
    Remove(RemoveState),
}

#[derive(Debug, Args)]
struct StatePlace {
    /// Use the state in this directory instead of that of the configuration
    #[arg(long, value_name = "DIR")]
    state_dir: Option<PathBuf>,
}

/// List the owners of state, or the keys of an owner
#[derive(Debug, Args)]
struct ListState {
    /// List the keys of this owner
    #[arg(value_name = "OWNER")]
    owner: Option<StateOwner>,
    #[command(flatten)]
    place: StatePlace,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// Print the value of a key: text as it is, anything else in Base64
#[derive(Debug, Args)]
struct GetState {
    /// The owner, such as `plugin:notes`
    #[arg(value_name = "OWNER")]
    owner: StateOwner,
    /// The key
    #[arg(value_name = "KEY")]
    key: String,
    #[command(flatten)]
    place: StatePlace,
    /// Output format
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: OutputFormat,
}

/// Print all state as lines of JSON
#[derive(Debug, Args)]
#[command(after_help = "\
Each line has `owner`, `key`, and either `value`, if it is text, or `base64`. Changes \
during the export can be missing from the output.")]
struct ExportState {
    /// Only the state of this owner
    #[arg(value_name = "OWNER")]
    owner: Option<StateOwner>,
    #[command(flatten)]
    place: StatePlace,
}

/// Set the keys from an export
#[derive(Debug, Args)]
#[command(after_help = "Existing keys get the new values; other keys stay. `limits.state` doesn't apply.")]
struct ImportState {
    /// The file [default: stdin]
    #[arg(value_name = "FILE")]
    file: Option<PathBuf>,
    #[command(flatten)]
    place: StatePlace,
}

/// Remove a key, or all keys of an owner
#[derive(Debug, Args)]
struct RemoveState {
    /// The owner, such as `plugin:notes`
    #[arg(value_name = "OWNER")]
    owner: StateOwner,
    /// The key
    #[arg(value_name = "KEY", required_unless_present = "all", conflicts_with = "all")]
    key: Option<String>,
    /// Remove all keys of the owner
    #[arg(long)]
    all: bool,
    #[command(flatten)]
    place: StatePlace,
}

impl StateTool {
    pub(super) async fn run(self, common: &CommonOptions) -> CommandResult {
        match self.verb {
            StateVerb::List(list) => list.run(common).await,
            StateVerb::Get(get) => get.run(common).await,
            StateVerb::Export(export) => export.run(common).await,
            StateVerb::Import(import) => import.run(common).await,
            StateVerb::Remove(remove) => remove.run(common).await,
        }
    }
}

impl StatePlace {
    /// Opens the state.
    async fn open(self, common: &CommonOptions) -> Result<Arc<dyn StateBackend>, CommandError> {
        let location = match self.state_dir {
            Some(dir) => StateLocation::Directory(dir),
            None => configured_location(common).await?,
        };
        let backend = location.backend();
        backend.start();
        match backend.problem().await {
            None => Ok(backend),
            Some(StateDiagnostic { reason, hint }) => {
                Err(CommandError::new(ExitKind::Failure).message(&reason, Some(&hint)))
            }
        }
    }
}

async fn configured_location(common: &CommonOptions) -> Result<StateLocation, CommandError> {
    let loaded = configuration::read(common.config.as_deref());
    let Some(config) = loaded.config else {
        let failed = CommandError::new(ExitKind::Configuration).diagnostics(&loaded.problems, &loaded.source);
        return Err(failed);
    };
    match (&config.store, config.state) {
        (Some(store), _) => {
            Ok(StateLocation::Shared(Arc::new(SharedStore::open(store, config.ca_file).await)))
        }
        (None, Some(dir)) => Ok(StateLocation::Directory(dir)),
        (None, None) => {
            let hint = "set `state` in `[gateway]`, add `[store]`, or pass `--state-dir`";
            Err(CommandError::new(ExitKind::Usage)
                .message("the configuration keeps plugins' state in memory only", Some(hint)))
        }
    }
}

/// The error of an operation.
fn failed(error: &StateError) -> CommandError {
    CommandError::new(ExitKind::Failure).message(&error.to_string(), None)
}

/// Calls `each` with all keys of an owner.
async fn for_each_key(
    backend: &dyn StateBackend,
    owner: &StateOwner,
    mut each: impl AsyncFnMut(String) -> Result<(), CommandError>,
) -> Result<(), CommandError> {
    let mut cursor = None;
    loop {
        let page = backend.page(owner, cursor).await.map_err(|error| failed(&error))?;
        for key in page.keys {
            each(key).await?;
        }
        match page.cursor {
            Some(next) => cursor = Some(next),
            None => return Ok(()),
        }
    }
}

/// A value as a member of a document: text, or Base64.
fn add_value(document: &mut Map<String, Value>, value: &[u8]) {
    match std::str::from_utf8(value) {
        Ok(text) => document.insert("value".to_owned(), json!(text)),
        Err(_) => document.insert("base64".to_owned(), json!(STANDARD.encode(value))),
    };
}

impl ListState {
    async fn run(self, common: &CommonOptions) -> CommandResult {
        let backend = self.place.open(common).await?;
        let Some(owner) = self.owner else {
            let owners = backend.owners().await.map_err(|error| failed(&error))?;
            match self.format {
                OutputFormat::Json => {
                    let owners = owners
                        .iter()
                        .map(|(owner, size)| json!({ "owner": owner.as_str(), "bytes": size }))
                        .collect::<Vec<_>>();
                    print::json(&json!({ "owners": owners }))?;
                }
                OutputFormat::Text => {
                    for (owner, size) in owners {
                        let size = bytesize::ByteSize::b(size).display().iec();
                        print::untrusted(&format!("{owner}  {size}\n"))?;
                    }
                }
            }
            return Ok(ExitKind::Success);
        };
        let mut keys = Vec::new();
        for_each_key(&*backend, &owner, async |key| {
            keys.push(key);
            Ok(())
        })
        .await?;
        match self.format {
            OutputFormat::Json => print::json(&json!({ "owner": owner.as_str(), "keys": keys }))?,
            OutputFormat::Text => {
                for key in keys {
                    print::untrusted(&format!("{}\n", print::inline(&key)))?;
                }
            }
        }
        Ok(ExitKind::Success)
    }
}

impl GetState {
    async fn run(self, common: &CommonOptions) -> CommandResult {
        let Self { owner, key, place, format } = self;
        let backend = place.open(common).await?;
        let value = backend.get(&owner, key.clone()).await.map_err(|error| failed(&error))?;
        let Some(value) = value else {
            return Err(
                CommandError::new(ExitKind::Failure).message(&format!("`{owner}` has no such key"), None)
            );
        };
        let mut document = Map::new();
        document.insert("owner".to_owned(), json!(owner.as_str()));
        document.insert("key".to_owned(), json!(key));
        add_value(&mut document, &value);
        match format {
            OutputFormat::Json => print::json(&Value::Object(document))?,
            OutputFormat::Text => {
                let text = document.get("value").or_else(|| document.get("base64"));
                print::untrusted(&format!("{}\n", text.and_then(Value::as_str).unwrap_or_default()))?;
            }
        }
        Ok(ExitKind::Success)
    }
}

impl ExportState {
    async fn run(self, common: &CommonOptions) -> CommandResult {
        let backend = self.place.open(common).await?;
        let owners = match self.owner {
            Some(owner) => vec![owner],
            None => {
                let owners = backend.owners().await.map_err(|error| failed(&error))?;
                owners.into_iter().map(|(owner, _)| owner).collect()
            }
        };
        let mut count = 0;
        for owner in owners {
            for_each_key(&*backend, &owner, async |key| {
                let value = backend.get(&owner, key.clone()).await.map_err(|error| failed(&error))?;
                let Some(value) = value else { return Ok(()) }; // it was removed meanwhile
                let mut line = Map::new();
                line.insert("owner".to_owned(), json!(owner.as_str()));
                line.insert("key".to_owned(), json!(key));
                add_value(&mut line, &value);
                count += 1;
                print::stdout(&format!("{}\n", Value::Object(line)))?; // JSON escapes control characters
                Ok(())
            })
            .await?;
        }
        print::note(&format!("exported {}", print::count(count, "key")));
        Ok(ExitKind::Success)
    }
}

impl ImportState {
    async fn run(self, common: &CommonOptions) -> CommandResult {
        let input: Box<dyn Read + Send> = match &self.file {
            None => Box::new(io::stdin()),
            Some(file) => Box::new(std::fs::File::open(file).map_err(|error| {
                let message = format!("can't read `{}`: {error}", file.display());
                CommandError::new(ExitKind::Failure).message(&message, None)
            })?),
        };
        let backend = self.place.open(common).await?;
        let mut input = BufReader::new(input);
        let mut count = 0;
        loop {
            let number = count + 1;
            let mut line = Vec::new();
            let read = input.by_ref().take(MAX_LINE_BYTES).read_until(b'\n', &mut line);
            let read = read.map_err(|error| invalid(number, &error.to_string()))?;
            if read == 0 {
                break;
            }
            let (owner, key, value) = parse_line(&line).map_err(|reason| invalid(number, &reason))?;
            let set = backend.set(&owner, key, value.into(), NO_LIMIT).await;
            set.map_err(|error| invalid(number, &error.to_string()))?;
            count = number;
        }
        print::note(&format!("imported {}", print::count(count, "key")));
        Ok(ExitKind::Success)
    }
}

fn invalid(line: usize, reason: &str) -> CommandError {
    let hint = "fix this line and import the file again; the lines before it are already imported";
    CommandError::new(ExitKind::Failure).message(&format!("line {line}: {reason}"), Some(hint))
}

/// A line of an export: the owner, the key and the value.
fn parse_line(line: &[u8]) -> Result<(StateOwner, String, Vec<u8>), String> {
    let document: Value = serde_json::from_slice(line).map_err(|error| format!("invalid JSON: {error}"))?;
    let member = |name: &str| document.get(name).and_then(Value::as_str);
    let required = |name: &str| member(name).ok_or_else(|| format!("`{name}` is missing or isn't a string"));
    let owner: StateOwner = required("owner")?.parse().map_err(|error| format!("{error}"))?;
    let key = required("key")?.to_owned();
    let value = match (member("value"), member("base64")) {
        (Some(text), None) => text.as_bytes().to_vec(),
        (None, Some(text)) => STANDARD.decode(text).map_err(|_| "`base64` isn't valid Base64".to_owned())?,
        _ => return Err("exactly one of `value` and `base64` is required, as a string".to_owned()),
    };
    if key.len() > MAX_KEY_BYTES {
        return Err(StateError::KeyTooLong(key.len()).to_string());
    }
    if value.len() > MAX_VALUE_BYTES {
        return Err(StateError::ValueTooLong(value.len()).to_string());
    }
    Ok((owner, key, value))
}

impl RemoveState {
    async fn run(self, common: &CommonOptions) -> CommandResult {
        let Self { owner, key, all: _, place } = self;
        let backend = place.open(common).await?;
        let mut count = 0;
        match key {
            Some(key) => {
                let exists = backend.exists(&owner, key.clone()).await.map_err(|error| failed(&error))?;
                backend.delete(&owner, key).await.map_err(|error| failed(&error))?;
                count = usize::from(exists);
            }
            None => {
                for_each_key(&*backend, &owner, async |key| {
                    backend.delete(&owner, key).await.map_err(|error| failed(&error))?;
                    count += 1;
                    Ok(())
                })
                .await?;
            }
        }
        print::note(&format!("removed {}", print::count(count, "key")));
        Ok(ExitKind::Success)
    }
}
