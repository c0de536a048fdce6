//! A plugin with state, whose lists depend on that state: for tests of `wasi:keyvalue`, of changing lists, and of
//! calls that clean up after a cancellation.
//!
//! It is written by hand: its tools are the fixed ones and those that were offered later. Each takes `key`, `value`
//! and `count` as needed.
#![forbid(unsafe_code)]

use std::thread;
use std::time::Duration;

use moongate_sdk::bindings::imports::wasi::keyvalue::atomics::{self, Cas, CasError};
use moongate_sdk::bindings::imports::wasi::keyvalue::store::{self, Bucket, Error};
use moongate_sdk::serde_json::{self, Value};
use moongate_sdk::{
    CallOutcome, Context, Failure, Plugin, PluginInfo, ResourceInfo, Tool, ToolError, ToolResult, changes,
    kv, log, progress,
};

/// The names of the tools that always exist.
const FIXED: &[&str] = &[
    // Tools that use the store.
    "get",
    "set",
    "delete",
    "exists",
    "keys",
    "add",
    "swap",
    "look_often",
    "add_often",
    "swap_often",
    "open",
    "note",
    "fill",
    // Tools that change the lists.
    "offer",
    "withdraw",
    "break_lists",
    "mend_lists",
    "report_often",
    "lists_asked",
    // Tools that notice a cancellation.
    "wait_and_tidy",
    "wait_for_ever",
];

/// The key prefix of an added tool.
const OFFERED: &str = "offered:";
/// The key that selects how the lists are broken.
const BROKEN: &str = "broken";
/// The key that counts requests for the list of tools.
const ASKED: &str = "asked";
/// A resource that is listed after it was added.
const RESOURCE: &str = "keeper://state";

/// The plugin.
#[derive(Debug, Default)]
pub struct Keeper;

moongate_sdk::export!(Keeper: tools, resources);

impl Plugin for Keeper {
    fn info() -> PluginInfo {
        PluginInfo::new("keeper", "1.0.0")
    }

    fn tools(&self) -> Result<Vec<Tool>, Failure> {
        let mut tools: Vec<_> = FIXED.iter().map(|name| tool(name, r#"{"type":"object"}"#)).collect();
        // Without a store, there is nothing more to list.
        let Ok(bucket) = store::open("") else { return Ok(tools) };
        let _ = atomics::increment(&bucket, ASKED, 1);
        for key in keys(&bucket).unwrap_or_default() {
            if let Some(name) = key.strip_prefix(OFFERED).filter(|name| *name != RESOURCE) {
                tools.push(tool(name, r#"{"type":"object"}"#));
            }
        }
        match text(&bucket, BROKEN).ok().flatten().as_deref() {
            Some("schema") => tools.push(tool("broken", r#"{"type":"object","properties":7}"#)),
            Some("name") => tools.push(tool("not a name", r#"{"type":"object"}"#)),
            Some("trap") => panic!("the list panics on request"),
            Some(_) | None => {}
        }
        Ok(tools)
    }

    fn resources(&self) -> Result<Vec<ResourceInfo>, Failure> {
        let Ok(bucket) = store::open("") else { return Ok(Vec::new()) };
        let offered = bucket.exists(&format!("{OFFERED}{RESOURCE}")).unwrap_or_default();
        Ok(if offered { vec![ResourceInfo::new(RESOURCE, "state")] } else { Vec::new() })
    }

    fn call_tool(&self, ctx: &Context, name: &str, args: &str) -> Result<CallOutcome, Failure> {
        let args: Value = serde_json::from_str(args).unwrap_or_default();
        let args = Args(args);
        let result_text = match name {
            "note" => return Ok(CallOutcome::Done(ToolResult::text(note(&args)))),
            "open" => store::open(args.key()).map(|_| "opened".to_owned()),
            _ => store::open("default").and_then(|bucket| kept(ctx, &bucket, name, &args)),
        };
        Ok(match result_text {
            Ok(result_text) => CallOutcome::Done(ToolResult::text(result_text)),
            Err(Error::Other(message)) => return ToolError::failed(message).into_outcome(),
            Err(Error::AccessDenied) => return ToolError::failed("access denied").into_outcome(),
            Err(Error::NoSuchStore) => return ToolError::failed("no such store").into_outcome(),
        })
    }
}

/// The arguments of a tool.
struct Args(Value);

impl Args {
    fn key(&self) -> &str {
        self.0["key"].as_str().unwrap_or_default()
    }

    fn value(&self) -> &str {
        self.0["value"].as_str().unwrap_or_default()
    }

    fn count(&self) -> i64 {
        self.0["count"].as_i64().unwrap_or(1)
    }
}

fn tool(name: &str, schema: &str) -> Tool {
    Tool::new(name, format!("Does what `{name}` says."), schema)
}

/// The tools that need the store.
fn kept(ctx: &Context, bucket: &Bucket, name: &str, args: &Args) -> Result<String, Error> {
    match name {
        "get" => Ok(text(bucket, args.key())?.unwrap_or_else(|| "nothing".to_owned())),
        "set" => {
            // `count` copies, so that a test doesn't have to send a megabyte.
            bucket.set(
                args.key(),
                args.value().repeat(usize::try_from(args.count()).unwrap_or(1)).as_bytes(),
            )?;
            Ok("set".to_owned())
        }
        "delete" => bucket.delete(args.key()).map(|()| "deleted".to_owned()),
        "exists" => bucket.exists(args.key()).map(|there| there.to_string()),
        "keys" => keys(bucket).map(|keys| keys.join(" ")),
        "add" => atomics::increment(bucket, args.key(), args.count()).map(|sum| sum.to_string()),
        "swap" => swap(bucket, args.key(), args.count()),
        "add_often" => {
            let sums = (0..args.count()).map(|_| atomics::increment(bucket, args.key(), 1));
            let sums: Vec<i64> = sums.collect::<Result<_, _>>()?;
            Ok(sums.last().copied().unwrap_or_default().to_string())
        }
        "swap_often" => {
            let sums = (0..args.count()).map(|_| swap(bucket, args.key(), 1));
            let sums: Vec<String> = sums.collect::<Result<_, _>>()?;
            Ok(sums.last().cloned().unwrap_or_default())
        }
        "look_often" => {
            let looks: Result<Vec<Cas>, Error> =
                (0..args.count()).map(|_| Cas::new(bucket, args.key())).collect();
            looks.map(|looks| format!("looked {} times", looks.len()))
        }
        "fill" => fill(bucket, args),
        "offer" => {
            bucket.set(&format!("{OFFERED}{}", args.key()), b"")?;
            report_change("offered")
        }
        "withdraw" => {
            bucket.delete(&format!("{OFFERED}{}", args.key()))?;
            report_change("withdrawn")
        }
        "break_lists" => {
            bucket.set(BROKEN, args.key().as_bytes())?;
            report_change("broken")
        }
        "mend_lists" => {
            bucket.delete(BROKEN)?;
            report_change("mended")
        }
        "report_often" => {
            for _ in 0..args.count() {
                changes::tools();
                changes::resource(RESOURCE);
            }
            Ok("reported".to_owned())
        }
        "lists_asked" => Ok(text(bucket, ASKED)?.unwrap_or_default()),
        "wait_and_tidy" | "wait_for_ever" => wait(ctx, bucket, name, args.key()),
        other => Ok(format!("`{other}` was offered")),
    }
}

/// Stores one value under more and more keys until that fails. Returns their number and the error.
fn fill(bucket: &Bucket, args: &Args) -> Result<String, Error> {
    for number in 0_u64.. {
        match bucket.set(&format!("{}{number}", args.key()), args.value().as_bytes()) {
            Ok(()) => {}
            Err(Error::Other(why)) => return Ok(format!("{number} keys, then: {why}")),
            Err(error) => return Err(error),
        }
    }
    Ok("there are no more numbers".to_owned())
}

/// Waits for a cancellation. Then it either cleans up or keeps running.
fn wait(ctx: &Context, bucket: &Bucket, name: &str, key: &str) -> Result<String, Error> {
    if name == "wait_for_ever" {
        progress::report(1.0, None);
        loop {
            if ctx.cancelled() {
                let _ = atomics::increment(bucket, key, 1);
            }
            thread::sleep(Duration::from_millis(1));
        }
    }
    bucket.set(key, b"begun")?;
    progress::report(1.0, None);
    while !ctx.cancelled() {
        thread::sleep(Duration::from_millis(1));
    }
    // Neither reaches the client.
    progress::report(2.0, None);
    log::error("said too late");
    bucket.set(key, b"tidied").map(|()| "tidied".to_owned())
}

/// Reports a change to the lists.
fn report_change(result_text: &str) -> Result<String, Error> {
    changes::tools();
    changes::resources();
    changes::resource(RESOURCE);
    Ok(result_text.to_owned())
}

fn text(bucket: &Bucket, key: &str) -> Result<Option<String>, Error> {
    Ok(bucket.get(key)?.map(|value| String::from_utf8_lossy(&value).into_owned()))
}

/// All keys, page by page.
fn keys(bucket: &Bucket) -> Result<Vec<String>, Error> {
    let mut all = Vec::new();
    let mut cursor = None;
    loop {
        let page = bucket.list_keys(cursor.as_deref())?;
        all.extend(page.keys);
        cursor = page.cursor;
        if cursor.is_none() {
            return Ok(all);
        }
    }
}

/// Adds a line to a list with the SDK. Returns the SDK's error.
fn note(args: &Args) -> String {
    let lines = kv::update(args.key(), |old: Option<Vec<String>>| {
        let mut lines = old.unwrap_or_default();
        lines.push(args.value().repeat(usize::try_from(args.count()).unwrap_or(1)));
        lines
    });
    let kept = lines.and_then(|lines| Ok((lines, kv::exists(args.key())?, kv::keys()?.len())));
    match kept {
        Ok((lines, there, keys)) => format!("{} lines, there: {there}, keys: {keys}", lines.len()),
        Err(error) => format!("{error:?}"),
    }
}

/// Adds to a number by compare-and-swap, with as many attempts as needed.
fn swap(bucket: &Bucket, key: &str, count: i64) -> Result<String, Error> {
    let mut look = Cas::new(bucket, key)?;
    loop {
        let before = look.current()?.unwrap_or_default();
        let before: i64 = String::from_utf8_lossy(&before).parse().unwrap_or(0);
        let sum = (before + count).to_string();
        match atomics::swap(look, sum.as_bytes()) {
            Ok(()) => return Ok(sum),
            Err(CasError::CasFailed(again)) => look = again,
            Err(CasError::StoreError(error)) => return Err(error),
        }
    }
}
