//! Rules of the specification that its schemas don't contain.

use serde_json::Value;

use crate::{ExtraMembers, Revision, SchemaViolation};

/// Members whose values come from plugins or clients: schemas, data and arguments.
const FOREIGN_MEMBERS: [&str; 8] = [
    "_meta",
    "structuredContent",
    "inputSchema",
    "outputSchema",
    "requestedSchema",
    "data",
    "experimental",
    "extensions",
];

/// The maximum length of tool and prompt names that all clients accept, in bytes.
const MAX_NAME_BYTES: usize = 64;

type CheckResult = Result<(), SchemaViolation>;

/// Checks a result that is valid against its definition.
pub(crate) fn result(
    revision: Revision,
    definition: &str,
    result: &Value,
    members: ExtraMembers,
) -> CheckResult {
    let checker = RuleChecker { revision, definition, value: result };
    no_nulls(revision, definition, result, members)?;
    match definition {
        "EmptyResult" => checker.empty(),
        "InputRequiredResult" => checker.asks(),
        "ListToolsResult" => checker.each("tools", |tool| checker.tool(tool)),
        "ListPromptsResult" => checker.each("prompts", |prompt| checker.named_item(prompt)),
        "CallToolResult" => checker.call(),
        "ReadResourceResult" => checker.each("contents", |contents| checker.contents(contents)),
        "GetPromptResult" => checker.each("messages", |message| checker.block(&message["content"])),
        "CompleteResult" => checker.completion(),
        "DiscoverResult" => checker.discovered(),
        _ => Ok(()),
    }?;
    if revision.is_stateless() && definition != "InputRequiredResult" && result["resultType"] != "complete" {
        return checker.fail("`resultType` must be `complete`");
    }
    Ok(())
}

/// Checks an error that is valid against its definition.
pub(crate) fn error(revision: Revision, message: &Value, code: i64) -> CheckResult {
    let checker = RuleChecker { revision, definition: "an error", value: message };
    let unknown = if revision.is_stateless() {
        // 2026-07-28, basic: -32002 and -32042 are removed, and -32000 to -32019 are reserved.
        code == -32042 || (-32019..=-32000).contains(&code)
    } else {
        (-32022..=-32020).contains(&code) || (code == -32042 && revision < Revision::V2025_11_25)
    };
    if unknown {
        return checker.fail("this revision has no error with this code");
    }
    match &message["error"]["data"] {
        Value::Null if message["error"].get("data").is_some() => checker.fail("`data` is null"),
        _ => Ok(()),
    }
}

/// Checks that no absent member is written as `null`. Unknown members may be `null`.
pub(crate) fn no_nulls(
    revision: Revision,
    definition: &str,
    message: &Value,
    members: ExtraMembers,
) -> CheckResult {
    match members {
        ExtraMembers::Denied => RuleChecker { revision, definition, value: message }.no_nulls(message, ""),
        ExtraMembers::Allowed => Ok(()),
    }
}

struct RuleChecker<'a> {
    revision: Revision,
    definition: &'a str,
    value: &'a Value,
}

impl RuleChecker<'_> {
    fn fail(&self, fault: impl Into<String>) -> CheckResult {
        Err(SchemaViolation::of(self.revision, self.definition, self.value, fault.into()))
    }

    fn no_nulls(&self, value: &Value, at: &str) -> CheckResult {
        match value {
            Value::Null => self.fail(format!("null at `{at}`: omit absent members")),
            Value::Array(items) => items.iter().try_for_each(|item| self.no_nulls(item, at)),
            Value::Object(members) => members
                .iter()
                .filter(|(key, _)| !FOREIGN_MEMBERS.contains(&key.as_str()))
                .try_for_each(|(key, value)| self.no_nulls(value, &format!("{at}/{key}"))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn each(&self, member: &str, check: impl Fn(&Value) -> CheckResult) -> CheckResult {
        self.value[member].as_array().into_iter().flatten().try_for_each(check)
    }

    /// Checks an empty result. Clients refuse any other member.
    fn empty(&self) -> CheckResult {
        match self.value.as_object().and_then(|members| members.keys().find(|key| *key != "_meta")) {
            Some(key) => self.fail(format!("an empty result has no `{key}`")),
            None => Ok(()),
        }
    }

    fn asks(&self) -> CheckResult {
        let requests = self.value["inputRequests"].as_object().is_some_and(|all| !all.is_empty());
        if requests || self.value.get("requestState").is_some() {
            return Ok(());
        }
        self.fail("it must have `inputRequests` or `requestState`")
    }

    /// Checks the name and description of a tool or prompt.
    fn named_item(&self, item: &Value) -> CheckResult {
        let name = item["name"].as_str().unwrap_or_default();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        if name.is_empty() || name.len() > MAX_NAME_BYTES || !name.bytes().all(fits) {
            return self.fail(format!("`{name}` is a name that some clients reject"));
        }
        if item["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
            return self.fail(format!("`{name}` has no description"));
        }
        Ok(())
    }

    fn tool(&self, tool: &Value) -> CheckResult {
        self.named_item(tool)?;
        for member in ["inputSchema", "outputSchema"] {
            let Some(schema) = tool.get(member) else { continue };
            if let Err(error) = jsonschema::meta::validate(schema) {
                return self.fail(format!("`{member}` of `{}` isn't a valid schema: {error}", tool["name"]));
            }
        }
        Ok(())
    }

    fn call(&self) -> CheckResult {
        if self.value["isError"] == true && self.value.get("structuredContent").is_some() {
            return self.fail(
                "an error must not have a structured result: clients check it against the output schema",
            );
        }
        let is_object = self.value.get("structuredContent").is_none_or(Value::is_object);
        if self.revision.is_stateless()
            && !is_object
            && self.value["content"].as_array().is_none_or(Vec::is_empty)
        {
            return self.fail("a structured result that isn't an object must also be in `content` as text");
        }
        self.each("content", |block| self.block(block))
    }

    fn block(&self, block: &Value) -> CheckResult {
        match block["type"].as_str() {
            Some("image" | "audio") => self.base64(&block["data"]),
            Some("resource") => self.contents(&block["resource"]),
            _ => Ok(()),
        }
    }

    fn contents(&self, contents: &Value) -> CheckResult {
        match (contents.get("text"), contents.get("blob")) {
            (Some(_), None) => Ok(()),
            (None, Some(blob)) => self.base64(blob),
            _ => self.fail("contents must have either `text` or `blob`"),
        }
    }

    /// Checks base64 in the standard alphabet, padded, without line breaks.
    fn base64(&self, text: &Value) -> CheckResult {
        let text = text.as_str().unwrap_or_default().as_bytes();
        let data = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
        if text.len().is_multiple_of(4) && data.iter().all(fits) {
            return Ok(());
        }
        self.fail("the data isn't padded base64 in the standard alphabet")
    }

    fn completion(&self) -> CheckResult {
        let values = self.value["completion"]["values"].as_array().map_or(0, Vec::len);
        if values > 100 {
            return self.fail(format!("{values} values; at most 100 are allowed"));
        }
        match self.value["completion"]["total"].as_u64() {
            Some(total) if total < values as u64 => self.fail("`total` is smaller than the number of values"),
            _ => Ok(()),
        }
    }

    fn discovered(&self) -> CheckResult {
        let known =
            |name: &Value| name.as_str().and_then(Revision::named).is_some_and(Revision::is_stateless);
        match self.value["supportedVersions"].as_array() {
            Some(names) if names.iter().all(known) => Ok(()),
            _ => self.fail("`supportedVersions` contains a revision with a handshake"),
        }
    }
}
