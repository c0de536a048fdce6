//! The table of inputs and expected responses.
//!
//! The numbers identify the cases. Placeholders: `@m` is a method of the revision without required parameters, `@p` its
//! minimal parameters, `@e` the `_meta` members that a stateless request requires.

/// An edge case of JSON-RPC.
pub(super) struct Row {
    pub(super) number: u8,
    pub(super) name: &'static str,
    pub(super) applies_to: AppliesTo,
    /// The bytes, without the newline that stdio requires.
    pub(super) bytes: &'static [u8],
    /// Headers that replace the usual ones. Rows with headers apply to HTTP only.
    pub(super) headers: &'static [(&'static str, &'static str)],
    pub(super) stdio: Expected,
    /// The status in handshake revisions and in stateless ones.
    pub(super) status: [u16; 2],
    /// The expectation over HTTP, if it differs.
    pub(super) http: Option<Expected>,
}

/// The revisions that a row applies to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AppliesTo {
    Always,
    Handshake,
    Stateless,
    /// 2025-03-26.
    Batches,
    /// All except 2025-03-26.
    NoBatches,
}

/// The expected response. The id is the text of a JSON value. `?` means that it was unreadable: null, or absent in
/// newer revisions. `-` means that there is no id because there is no request.
#[derive(Debug, Clone, Copy)]
pub(super) enum Expected {
    Nothing,
    Result(&'static str),
    Error(i64, &'static str),
    /// One response per line.
    Lines(&'static [Expected]),
    /// A batch response.
    Batch(&'static [Expected]),
}

use AppliesTo::{Always, Batches, Handshake, NoBatches, Stateless};
use Expected::{Batch, Error, Lines, Nothing, Result};

const PARSE: i64 = -32700;
const INVALID: i64 = -32600;
const METHOD: i64 = -32601;
const PARAMS: i64 = -32602;
const INTERNAL: i64 = -32603;

const fn row(number: u8, name: &'static str, bytes: &'static [u8], stdio: Expected, status: [u16; 2]) -> Row {
    Row { number, name, applies_to: Always, bytes, headers: &[], stdio, status, http: None }
}

impl Row {
    const fn when(self, applies_to: AppliesTo) -> Self {
        Self { applies_to, ..self }
    }

    const fn over_http(self, http: Expected) -> Self {
        Self { http: Some(http), ..self }
    }

    const fn headers(self, headers: &'static [(&'static str, &'static str)]) -> Self {
        Self { headers, ..self }
    }
}

const OK: [u16; 2] = [200, 200];
const BAD_REQUEST: [u16; 2] = [400, 400];
const ACCEPTED: [u16; 2] = [202, 202];
const NOT_FOUND_IF_STATELESS: [u16; 2] = [200, 404];
const BAD_IF_STATELESS: [u16; 2] = [200, 400];
const PING: &[u8] = br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p}"#;

pub(super) const PARSING: &[Row] = &[
    row(1, "not JSON", b"{nope}", Error(PARSE, "?"), BAD_REQUEST),
    row(1, "cut short", br#"{"jsonrpc":"2.0","id":1,"#, Error(PARSE, "1"), BAD_REQUEST),
    row(2, "not UTF-8", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\xFF\"}", Error(PARSE, "1"), BAD_REQUEST),
    // Unambiguous input is accepted.
    row(3, "byte order mark", b"\xEF\xBB\xBF{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"@m\",\"params\":@p}", Result("1"), OK),
    row(4, "carriage return", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"@m\",\"params\":@p}\r", Result("1"), OK),
    row(4, "blank line", b" \r", Nothing, BAD_REQUEST).over_http(Error(PARSE, "?")),
    row(4, "empty", b"", Nothing, BAD_REQUEST).over_http(Error(PARSE, "?")),
    row(5, "two messages", br#"{"jsonrpc":"2.0","method":"n"}{"jsonrpc":"2.0","method":"n"}"#, Error(PARSE, "?"), BAD_REQUEST),
    row(5, "trailing garbage", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p} x"#, Error(PARSE, "1"), BAD_REQUEST),
    row(
        6,
        "printed on several lines",
        b"{\n\"jsonrpc\":\"2.0\",\n\"id\":1,\"method\":\"@m\",\"params\":@p\n}",
        Lines(&[Error(PARSE, "?"), Error(PARSE, "?"), Error(PARSE, "?"), Error(PARSE, "?")]),
        OK,
    )
    .over_http(Result("1")),
    row(36, "nesting too deep", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@deep}"#, Error(PARSE, "1"), BAD_REQUEST),
    row(37, "half a surrogate pair", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"x":"\ud800"}}"#, Result("1"), OK).when(Handshake),
    row(37, "half a surrogate pair in `_meta`", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"_meta":{@e"\udc00":"\ud800"}}}"#, Result("1"), OK),
    row(37, "half a surrogate pair in a name", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"\ud800"}}"#, Error(PARAMS, "1"), OK).when(Handshake),
    row(38, "NaN", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"x":NaN}}"#, Error(PARSE, "1"), BAD_REQUEST),
    row(38, "Infinity", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"x":-Infinity}}"#, Error(PARSE, "1"), BAD_REQUEST),
    row(38, "comment", br#"{"jsonrpc":"2.0","id":1,/* x */"method":"@m","params":@p}"#, Error(PARSE, "1"), BAD_REQUEST),
    row(38, "trailing comma", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p,}"#, Error(PARSE, "1"), BAD_REQUEST),
    // The message is readable, its parameters aren't: no program can represent the number.
    row(39, "number out of range", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"x":1e400}}"#, Error(PARAMS, "1"), BAD_IF_STATELESS),
    row(40, "raw control character", b"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"\x00\"}", Error(PARSE, "1"), BAD_REQUEST),
    row(40, "NUL in a method", br#"{"jsonrpc":"2.0","id":1,"method":"a\u0000b","params":@p}"#, Error(METHOD, "1"), OK).when(Handshake),
    row(40, "NUL in a name", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"a\u0000b"}}"#, Error(PARAMS, "1"), OK).when(Handshake),
    row(41, "line breaks from a plugin", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zoo_structured_with_newlines","_meta":{@e"x/y":1}}}"#, Result("1"), OK),
    row(42, "too long", b"@huge", Error(INVALID, "?"), [413, 413]).over_http(Error(INVALID, "-")),
];

pub(super) const BATCH: &[Row] = &[
    row(8, "number", b"7", Error(INVALID, "?"), BAD_REQUEST),
    row(8, "string", b"\"x\"", Error(INVALID, "?"), BAD_REQUEST),
    row(8, "null", b"null", Error(INVALID, "?"), BAD_REQUEST),
    row(8, "boolean", b"true", Error(INVALID, "?"), BAD_REQUEST),
    row(9, "empty batch", b"[]", Error(INVALID, "?"), BAD_REQUEST),
    row(10, "batch of numbers", b"[1,2]", Batch(&[Error(INVALID, "?"), Error(INVALID, "?")]), OK).when(Batches),
    row(10, "batch of numbers", b"[1,2]", Error(INVALID, "?"), BAD_REQUEST).when(NoBatches),
    row(
        11,
        "batch",
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":"b","method":"nope"}]"#,
        Batch(&[Result("1"), Error(METHOD, "\"b\"")]),
        OK,
    )
    .when(Batches),
    row(11, "batch", br#"[{"jsonrpc":"2.0","id":1,"method":"@m","params":@p}]"#, Error(INVALID, "?"), BAD_REQUEST).when(NoBatches),
    row(12, "batch of notifications", br#"[{"jsonrpc":"2.0","method":"n"},{"jsonrpc":"2.0","id":9,"result":{}}]"#, Nothing, ACCEPTED).when(Batches),
    row(12, "batch of notifications", br#"[{"jsonrpc":"2.0","method":"n"}]"#, Error(INVALID, "?"), BAD_REQUEST).when(NoBatches),
    row(
        13,
        "initialize in a batch",
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","id":2,"method":"initialize","params":{"protocolVersion":"2025-03-26","capabilities":{},"clientInfo":{"name":"x","version":"1"}}}]"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(14, "batch too large", b"@many", Error(INVALID, "?"), BAD_REQUEST).when(NoBatches),
    row(14, "batch too large", b"@many", Batch(&[Error(INVALID, "1"); 101]), OK).when(Batches),
    row(
        14,
        "batch with an invalid message",
        br#"[{"jsonrpc":"2.0","id":1,"method":"ping"},{"jsonrpc":"2.0","method":"ping","params":{"x":NaN},"id":2},{"jsonrpc":"2.0","id":3,"method":"ping"}]"#,
        Batch(&[Result("1"), Error(PARSE, "2"), Result("3")]),
        OK,
    )
    .when(Batches),
];

pub(super) const MEMBERS: &[Row] = &[
    row(15, "no jsonrpc", br#"{"id":1,"method":"@m","params":@p}"#, Error(INVALID, "1"), BAD_REQUEST),
    row(
        15,
        "other jsonrpc version",
        br#"{"jsonrpc":"1.0","id":"x","method":"@m","params":@p}"#,
        Error(INVALID, "\"x\""),
        BAD_REQUEST,
    ),
    row(
        15,
        "jsonrpc as number",
        br#"{"jsonrpc":2.0,"id":1,"method":"@m","params":@p}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(16, "no method", br#"{"jsonrpc":"2.0","id":1}"#, Error(INVALID, "1"), BAD_REQUEST),
    row(16, "method as number", br#"{"jsonrpc":"2.0","id":1,"method":7}"#, Error(INVALID, "1"), BAD_REQUEST),
    row(
        17,
        "id null",
        br#"{"jsonrpc":"2.0","id":null,"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(
        18,
        "id with a fraction",
        br#"{"jsonrpc":"2.0","id":1.5,"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(
        18,
        "id true",
        br#"{"jsonrpc":"2.0","id":true,"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(
        18,
        "id object",
        br#"{"jsonrpc":"2.0","id":{},"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(
        18,
        "id array",
        br#"{"jsonrpc":"2.0","id":[],"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(18, "id zero", br#"{"jsonrpc":"2.0","id":0,"method":"@m","params":@p}"#, Result("0"), OK),
    row(
        19,
        "id above 2^53",
        br#"{"jsonrpc":"2.0","id":9007199254740993,"method":"@m","params":@p}"#,
        Result("9007199254740993"),
        OK,
    ),
    row(
        19,
        "id of 64 bits",
        br#"{"jsonrpc":"2.0","id":18446744073709551615,"method":"@m","params":@p}"#,
        Result("18446744073709551615"),
        OK,
    ),
    row(19, "negative id", br#"{"jsonrpc":"2.0","id":-1,"method":"@m","params":@p}"#, Result("-1"), OK),
    row(
        19,
        "id above 64 bits",
        br#"{"jsonrpc":"2.0","id":18446744073709551616,"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(20, "id empty", br#"{"jsonrpc":"2.0","id":"","method":"@m","params":@p}"#, Result("\"\""), OK),
    row(
        20,
        "id too long",
        br#"{"jsonrpc":"2.0","id":"@long","method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(23, "id reused", PING, Result("1"), OK),
    row(23, "id reused", PING, Result("1"), OK),
    row(
        24,
        "params as array",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":[]}"#,
        Error(PARAMS, "1"),
        BAD_IF_STATELESS,
    ),
    row(
        24,
        "params as string",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":"x"}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(25, "params null", br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":null}"#, Result("1"), OK)
        .when(Handshake),
    // Like absent params: the error for `server/discover` names the missing members, on stdio and over HTTP.
    row(
        25,
        "params null",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":null}"#,
        Error(PARAMS, "1"),
        BAD_REQUEST,
    )
    .when(Stateless),
    row(26, "params missing", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call"}"#, Error(PARAMS, "1"), OK)
        .when(Handshake),
    row(
        26,
        "params missing",
        br#"{"jsonrpc":"2.0","id":1,"method":"server/discover"}"#,
        Error(PARAMS, "1"),
        BAD_REQUEST,
    )
    .when(Stateless),
    row(
        27,
        "method and result",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p,"result":{}}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(
        27,
        "method and error",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p,"error":{}}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(
        34,
        "unknown members",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p,"x":1,"x":2}"#,
        Result("1"),
        OK,
    ),
    // Two parsers must not read the same message differently.
    row(
        35,
        "id twice",
        br#"{"jsonrpc":"2.0","id":1,"id":1,"method":"@m","params":@p}"#,
        Error(INVALID, "?"),
        BAD_REQUEST,
    ),
    row(
        35,
        "method twice",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","method":"@m","params":@p}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(
        35,
        "params twice",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":@p,"params":@p}"#,
        Error(INVALID, "1"),
        BAD_REQUEST,
    ),
    row(
        35,
        "a parameter twice",
        br#"{"jsonrpc":"2.0","id":1,"method":"@m","params":{"x":1,"x":2}}"#,
        Error(PARAMS, "1"),
        BAD_IF_STATELESS,
    ),
];

pub(super) const MESSAGE_KINDS: &[Row] = &[
    // Stateless revisions have no requests to clients, so any response is an error.
    row(28, "unknown response", br#"{"jsonrpc":"2.0","id":99,"result":{}}"#, Nothing, ACCEPTED).when(Handshake),
    row(28, "unknown response", br#"{"jsonrpc":"2.0","id":99,"result":{}}"#, Nothing, BAD_REQUEST).when(Stateless).over_http(Error(INVALID, "-")),
    row(29, "response with id null", br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, Nothing, ACCEPTED).when(Handshake),
    row(29, "response with id null", br#"{"jsonrpc":"2.0","id":null,"error":{"code":1,"message":"x"}}"#, Nothing, BAD_REQUEST).when(Stateless).over_http(Error(INVALID, "-")),
    row(30, "unknown notification", br#"{"jsonrpc":"2.0","method":"notifications/unknown"}"#, Nothing, ACCEPTED),
    row(30, "notification with wrong params", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":5}"#, Nothing, ACCEPTED),
    row(31, "request without id", br#"{"jsonrpc":"2.0","method":"tools/call","params":{"name":"zoo_print_json_rpc","_meta":{@e"x/y":1}}}"#, Nothing, ACCEPTED),
    row(32, "notification with id", br#"{"jsonrpc":"2.0","id":5,"method":"notifications/initialized","params":@p}"#, Error(METHOD, "5"), NOT_FOUND_IF_STATELESS),
    row(33, "reserved JSON-RPC method", br#"{"jsonrpc":"2.0","id":1,"method":"rpc.discover","params":@p}"#, Error(METHOD, "1"), NOT_FOUND_IF_STATELESS),
    row(43, "another type", PING, Nothing, [415, 415]).headers(&[("Content-Type", "text/plain")]).over_http(Error(INVALID, "-")),
    row(43, "another charset", PING, Nothing, [415, 415]).headers(&[("Content-Type", "application/json; charset=latin1")]).over_http(Error(INVALID, "-")),
    row(43, "no type", PING, Nothing, [415, 415]).headers(&[("X-None", "x")]).over_http(Error(INVALID, "-")),
    row(43, "UTF-8", PING, Nothing, OK).headers(&[("Content-Type", "application/json; charset=utf-8")]).over_http(Result("1")),
    row(44, "compressed", PING, Nothing, [415, 415]).headers(&[("Content-Type", "application/json"), ("Content-Encoding", "gzip")]).over_http(Error(INVALID, "-")),
    row(47, "cancelled: done already", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}"#, Nothing, ACCEPTED),
    row(47, "cancelled: the greeting", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":0}}"#, Nothing, ACCEPTED),
    row(47, "cancelled: no id", br#"{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":[1]}}"#, Nothing, ACCEPTED),
    // An invalid progress token is ignored: the call succeeds, without progress notifications.
    row(48, "progress token with a fraction", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zoo_progress_backwards","_meta":{@e"progressToken":1.5}}}"#, Result("1"), OK),
    row(48, "progress token object", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zoo_progress_backwards","_meta":{@e"progressToken":{}}}}"#, Result("1"), OK),
    row(49, "reserved code of a plugin", br#"{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"zoo_protocol_error_reserved_code","_meta":{@e"x/y":1}}}"#, Error(INTERNAL, "1"), OK),
];

/// Cases that need more than one message, and their tests.
pub(super) const OWN_TESTS: &[(u8, &str)] = &[
    (7, "stdio: reads_last_line_without_newline"),
    (21, "json_rpc: ids_differ_by_type_and_are_unique_while_running"),
    (22, "json_rpc: ids_differ_by_type_and_are_unique_while_running"),
    (31, "json_rpc: request_without_id_has_no_effect"),
    (45, "json_rpc: accepts_chunked_bodies_and_expect_continue"),
    (46, "protocol: a_call_in_a_session_outlives_its_connection"),
    (50, "protocol: a_panic_is_answered_on_every_transport"),
];
