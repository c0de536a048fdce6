//! Results of calls (2026-07-28, server/tools, server/resources, server/prompts, server/utilities/completion and
//! server/utilities/caching).

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::call::{Completion, Content, PromptMessage, PromptResult, ReadResult, ToolResult};
use crate::json::Json;
use crate::manifest::JsonMembers;
use crate::mcp::structured;

use super::super::identity::Identity;
use super::super::revision::Feature;
use super::{View, role_name, write_later_members, write_optional};

/// The result of `tools/call`.
#[derive(Debug)]
pub(in crate::mcp) struct ToolAnswer<'a> {
    /// The tool's result.
    pub(in crate::mcp) result: &'a ToolResult,
    /// The wrapping of structured results for older revisions.
    pub(in crate::mcp) wrapping: structured::Wrapping,
    /// The gateway's identity.
    pub(in crate::mcp) server: &'a Identity,
}

impl Serialize for View<'_, ToolAnswer<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ToolAnswer { result, wrapping, server } = self.value;
        let ToolResult { content, structured, is_error, meta, extra } = result;
        let mut map = serializer.serialize_map(None)?;
        if self.revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
        }
        map.serialize_entry("content", &self.each(content))?;
        if let Some(value) = structured {
            if self.revision.has(Feature::AnyStructured) {
                map.serialize_entry("structuredContent", value)?;
            } else if self.revision.has(Feature::Structured) {
                map.serialize_entry("structuredContent", &*wrapping.apply(value))?;
            }
        }
        if *is_error {
            map.serialize_entry("isError", is_error)?;
        }
        write_later_members(&mut map, self.revision, extra)?;
        server.write_meta(&mut map, self.revision, meta)?;
        map.end()
    }
}

/// The result of `resources/read`.
#[derive(Debug)]
pub(in crate::mcp) struct ReadContents<'a> {
    /// The plugin's result.
    pub(in crate::mcp) result: &'a ReadResult,
    /// The gateway's identity.
    pub(in crate::mcp) server: &'a Identity,
}

impl Serialize for View<'_, ReadContents<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let ReadContents { result, server } = self.value;
        let ReadResult { contents, ttl, is_shareable: shareable, meta, extra } = result;
        let mut map = serializer.serialize_map(None)?;
        if self.revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
            let milliseconds = ttl.map_or(0, |ttl| u64::try_from(ttl.as_millis()).unwrap_or(u64::MAX));
            map.serialize_entry("ttlMs", &milliseconds)?;
            map.serialize_entry("cacheScope", if *shareable { "public" } else { "private" })?;
        }
        map.serialize_entry("contents", &self.each(contents))?;
        write_later_members(&mut map, self.revision, extra)?;
        server.write_meta(&mut map, self.revision, meta)?;
        map.end()
    }
}

/// The result of `prompts/get`.
#[derive(Debug)]
pub(in crate::mcp) struct PromptMessages<'a> {
    /// The plugin's result.
    pub(in crate::mcp) result: &'a PromptResult,
    /// The gateway's identity.
    pub(in crate::mcp) server: &'a Identity,
}

impl Serialize for View<'_, PromptMessages<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PromptMessages { result, server } = self.value;
        let PromptResult { description, messages, meta, extra } = result;
        let mut map = serializer.serialize_map(None)?;
        if self.revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
        }
        write_optional(&mut map, "description", description.as_ref())?;
        map.serialize_entry("messages", &self.each(messages))?;
        write_later_members(&mut map, self.revision, extra)?;
        server.write_meta(&mut map, self.revision, meta)?;
        map.end()
    }
}

impl Serialize for View<'_, PromptMessage> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let PromptMessage { role, content, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("role", role_name(*role))?;
        map.serialize_entry("content", &self.of::<Content>(content))?;
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}

/// Questions to the client, instead of a result.
#[derive(Debug)]
pub(in crate::mcp) struct InputRequired<'a> {
    /// The questions: key, method, parameters.
    pub(in crate::mcp) requests: &'a [ClientRequestParts<'a>],
    /// The state that the client sends back.
    pub(in crate::mcp) state: &'a str,
    /// The plugin's `_meta`.
    pub(in crate::mcp) meta: &'a JsonMembers,
    /// The gateway's identity.
    pub(in crate::mcp) server: &'a Identity,
}

impl Serialize for View<'_, InputRequired<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let InputRequired { requests, state, meta, server } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("resultType", "input_required")?;
        if !requests.is_empty() {
            map.serialize_entry("inputRequests", &Requests(requests))?;
        }
        map.serialize_entry("requestState", state)?;
        server.write_meta(&mut map, self.revision, meta)?;
        map.end()
    }
}

/// A question: key, method, parameters.
pub(in crate::mcp) type ClientRequestParts<'a> = (&'a str, &'static str, Option<Json>);

struct Requests<'a>(&'a [ClientRequestParts<'a>]);

impl Serialize for Requests<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        struct Asked<'a> {
            method: &'static str,
            #[serde(skip_serializing_if = "Option::is_none")]
            params: Option<&'a Json>,
        }
        let asked = |method, params| Asked { method, params };
        let all = self.0.iter();
        serializer.collect_map(all.map(|(key, method, params)| (key, asked(*method, params.as_ref()))))
    }
}

/// The result of `completion/complete`.
#[derive(Debug)]
pub(in crate::mcp) struct CompletionResult<'a> {
    /// The plugin's result.
    pub(in crate::mcp) completion: &'a Completion,
    /// The gateway's identity.
    pub(in crate::mcp) server: &'a Identity,
}

impl Serialize for View<'_, CompletionResult<'_>> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let CompletionResult { completion, server } = self.value;
        let mut map = serializer.serialize_map(None)?;
        if self.revision.has(Feature::ResultTypes) {
            map.serialize_entry("resultType", "complete")?;
        }
        map.serialize_entry("completion", &self.of(*completion))?;
        server.write_meta(&mut map, self.revision, &completion.meta)?;
        map.end()
    }
}

impl Serialize for View<'_, Completion> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let Completion { values, total, has_more, meta: _, extra } = self.value;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("values", values)?;
        write_optional(&mut map, "total", total.as_ref())?;
        write_optional(&mut map, "hasMore", has_more.as_ref())?;
        write_later_members(&mut map, self.revision, extra)?;
        map.end()
    }
}
