//! What the specification says in words, where the schemas are silent.

use serde_json::Value;

use crate::{Members, Misfit, Revision};

/// Members whose values are somebody else's: plugins' schemas and data, clients' arguments.
const FOREIGN: [&str; 8] = [
    "_meta",
    "structuredContent",
    "inputSchema",
    "outputSchema",
    "requestedSchema",
    "data",
    "experimental",
    "extensions",
];

/// What a tool's or prompt's name is made of everywhere.
const NAME: usize = 64;

type Verdict = Result<(), Misfit>;

/// A result, which fits its definition already.
pub(crate) fn result(revision: Revision, definition: &str, result: &Value, members: Members) -> Verdict {
    let judge = Judge { revision, definition, whole: result };
    no_nulls(revision, definition, result, members)?;
    match definition {
        "EmptyResult" => judge.empty(),
        "InputRequiredResult" => judge.asks(),
        "ListToolsResult" => judge.each("tools", |tool| judge.tool(tool)),
        "ListPromptsResult" => judge.each("prompts", |prompt| judge.offer(prompt)),
        "CallToolResult" => judge.call(),
        "ReadResourceResult" => judge.each("contents", |contents| judge.contents(contents)),
        "GetPromptResult" => judge.each("messages", |message| judge.block(&message["content"])),
        "CompleteResult" => judge.completion(),
        "DiscoverResult" => judge.discovered(),
        _ => Ok(()),
    }?;
    if revision.is_stateless() && definition != "InputRequiredResult" && result["resultType"] != "complete" {
        return judge.fails("`resultType` must be `complete`");
    }
    Ok(())
}

/// An error, which fits its definition already.
pub(crate) fn error(revision: Revision, message: &Value, code: i64) -> Verdict {
    let judge = Judge { revision, definition: "an error", whole: message };
    let foreign = if revision.is_stateless() {
        // 2026-07-28, basic: -32002 and -32042 are gone, and new servers leave -32000 to -32019 alone.
        code == -32042 || (-32019..=-32000).contains(&code)
    } else {
        (-32022..=-32020).contains(&code) || (code == -32042 && revision < Revision::V2025_11_25)
    };
    if foreign {
        return judge.fails("this revision has no error of that code");
    }
    match &message["error"]["data"] {
        Value::Null if message["error"].get("data").is_some() => judge.fails("`data` is null"),
        _ => Ok(()),
    }
}

/// Nothing that is absent is written as `null`. Members that nobody knows may be.
pub(crate) fn no_nulls(revision: Revision, definition: &str, message: &Value, members: Members) -> Verdict {
    match members {
        Members::Closed => Judge { revision, definition, whole: message }.no_nulls(message, ""),
        Members::Open => Ok(()),
    }
}

struct Judge<'a> {
    revision: Revision,
    definition: &'a str,
    whole: &'a Value,
}

impl Judge<'_> {
    fn fails(&self, fault: impl Into<String>) -> Verdict {
        Err(Misfit::of(self.revision, self.definition, self.whole, fault.into()))
    }

    fn no_nulls(&self, value: &Value, at: &str) -> Verdict {
        match value {
            Value::Null => self.fails(format!("null at `{at}`: what is absent is left out")),
            Value::Array(items) => items.iter().try_for_each(|item| self.no_nulls(item, at)),
            Value::Object(members) => members
                .iter()
                .filter(|(key, _)| !FOREIGN.contains(&key.as_str()))
                .try_for_each(|(key, value)| self.no_nulls(value, &format!("{at}/{key}"))),
            Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    fn each(&self, member: &str, check: impl Fn(&Value) -> Verdict) -> Verdict {
        self.whole[member].as_array().into_iter().flatten().try_for_each(check)
    }

    /// Clients refuse any other member.
    fn empty(&self) -> Verdict {
        match self.whole.as_object().and_then(|members| members.keys().find(|key| *key != "_meta")) {
            Some(key) => self.fails(format!("an empty result has no `{key}`")),
            None => Ok(()),
        }
    }

    fn asks(&self) -> Verdict {
        let requests = self.whole["inputRequests"].as_object().is_some_and(|all| !all.is_empty());
        if requests || self.whole.get("requestState").is_some() {
            return Ok(());
        }
        self.fails("it must have `inputRequests` or `requestState`")
    }

    /// What every tool and prompt has.
    fn offer(&self, offer: &Value) -> Verdict {
        let name = offer["name"].as_str().unwrap_or_default();
        let fits = |byte: u8| byte.is_ascii_alphanumeric() || b"_-./".contains(&byte);
        if name.is_empty() || name.len() > NAME || !name.bytes().all(fits) {
            return self.fails(format!("`{name}` is a name that some clients refuse"));
        }
        if offer["description"].as_str().is_none_or(|text| text.trim().is_empty()) {
            return self.fails(format!("`{name}` has no description"));
        }
        Ok(())
    }

    fn tool(&self, tool: &Value) -> Verdict {
        self.offer(tool)?;
        for member in ["inputSchema", "outputSchema"] {
            let Some(schema) = tool.get(member) else { continue };
            if let Err(error) = jsonschema::meta::validate(schema) {
                return self.fails(format!("`{member}` of `{}` is no schema: {error}", tool["name"]));
            }
        }
        Ok(())
    }

    fn call(&self) -> Verdict {
        if self.whole["isError"] == true && self.whole.get("structuredContent").is_some() {
            return self
                .fails("an error has no structured result: clients check it against the output schema");
        }
        let is_object = self.whole.get("structuredContent").is_none_or(Value::is_object);
        if self.revision.is_stateless()
            && !is_object
            && self.whole["content"].as_array().is_none_or(Vec::is_empty)
        {
            return self.fails("a structured result that is no object stands in `content` as text, too");
        }
        self.each("content", |block| self.block(block))
    }

    fn block(&self, block: &Value) -> Verdict {
        match block["type"].as_str() {
            Some("image" | "audio") => self.base64(&block["data"]),
            Some("resource") => self.contents(&block["resource"]),
            _ => Ok(()),
        }
    }

    fn contents(&self, contents: &Value) -> Verdict {
        match (contents.get("text"), contents.get("blob")) {
            (Some(_), None) => Ok(()),
            (None, Some(blob)) => self.base64(blob),
            _ => self.fails("contents have either `text` or `blob`"),
        }
    }

    /// The standard alphabet, padded, without line breaks.
    fn base64(&self, text: &Value) -> Verdict {
        let text = text.as_str().unwrap_or_default().as_bytes();
        let data = text.strip_suffix(b"==").or_else(|| text.strip_suffix(b"=")).unwrap_or(text);
        let fits = |byte: &u8| byte.is_ascii_alphanumeric() || *byte == b'+' || *byte == b'/';
        if text.len().is_multiple_of(4) && data.iter().all(fits) {
            return Ok(());
        }
        self.fails("it isn't padded base64 in the standard alphabet")
    }

    fn completion(&self) -> Verdict {
        let values = self.whole["completion"]["values"].as_array().map_or(0, Vec::len);
        if values > 100 {
            return self.fails(format!("{values} values; there may be 100"));
        }
        match self.whole["completion"]["total"].as_u64() {
            Some(total) if total < values as u64 => {
                self.fails("`total` is smaller than the number of values")
            }
            _ => Ok(()),
        }
    }

    fn discovered(&self) -> Verdict {
        let known =
            |name: &Value| name.as_str().and_then(Revision::named).is_some_and(Revision::is_stateless);
        match self.whole["supportedVersions"].as_array() {
            Some(names) if names.iter().all(known) => Ok(()),
            _ => self.fails("`supportedVersions` names a revision that begins with a handshake"),
        }
    }
}
