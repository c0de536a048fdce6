//! The zoo: a plugin with one tool for each way in which a plugin can misbehave, or try to get out.
//!
//! Each says in its description which limit of the host it is for, and what to expect. Where the host refuses politely,
//! the tool returns normally and tells what it was told. `echo`, `sleep` and `echo_context` behave well. What a component
//! in Rust can't do (tables that grow, broken exports) is written in WAT beside the tests that need it.
#![forbid(unsafe_code)]

use std::time::Duration;

use moongate_sdk::prelude::*;
use moongate_sdk::{LogLevel, ReadResult, ToolError, ToolResult};
use schemars::JsonSchema;
use serde::Serialize;

mod asks; // questions to the client
mod bytes; // files, read and written without end
mod files; // files, without a library in between
mod http; // requests over HTTP
mod output; // results that are too big or not what they should be
mod reach; // files, network, variables
mod resources; // processor, memory, handles
mod says; // logs, progress, standard streams
mod wild; // calls of WASI that no library makes

/// The plugin.
#[derive(Debug, Default)]
pub struct Zoo;

/// What `bad_structured` and its like say they return.
#[derive(Serialize, JsonSchema)]
struct Number {
    /// A number.
    n: i64,
}

/// One tool for each way to misbehave.
#[plugin(name = "zoo", title = "Zoo")]
impl Zoo {
    // --- well-behaved ---

    /// Returns its text. For load.
    #[tool(read_only, idempotent)]
    fn echo(&self, text: String) -> String {
        text
    }

    /// Waits and returns. For calls at the same time, and for draining.
    #[tool(read_only, idempotent)]
    fn sleep(&self, milliseconds: u32) -> String {
        std::thread::sleep(Duration::from_millis(milliseconds.into()));
        format!("slept for {milliseconds} ms")
    }

    /// Returns what the gateway says of the call.
    #[tool(read_only)]
    fn echo_context(&self, ctx: &Context) -> Json<says::About> {
        Json(says::about(ctx))
    }

    /// Returns one setting. For `[plugins.zoo.config]`.
    #[tool(read_only)]
    fn config_get(&self, key: &str) -> Result<String, ToolError> {
        Ok(config::get(key)?.unwrap_or_else(|| format!("`{key}` isn't set")))
    }

    /// Returns how many calls this instance has served. For fresh sandboxes: it is 1 each time.
    #[tool(read_only)]
    fn calls_seen(&self) -> u32 {
        resources::calls_seen()
    }

    // --- processor, time, memory, handles ---

    /// Never returns and never calls the host. For interruption of code that only computes.
    #[tool]
    fn spin_forever(&self) {
        resources::spin_forever();
    }

    /// Never returns and calls the host all the time. For the limit of processor time.
    #[tool]
    fn burn_cpu(&self, ctx: &Context) {
        resources::burn_cpu(ctx);
    }

    /// Sleeps for longer than anybody waits. For the limit of time by the clock.
    #[tool]
    fn sleep_forever(&self) {
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Reports progress, then sleeps for longer than anybody waits. For clients, which cancel what they know to run.
    #[tool]
    fn report_and_hang(&self) {
        progress::report(0.0, 1.0);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
    }

    /// Reports progress, then waits until a file is there. For calls that end when a test says so.
    #[tool]
    fn report_and_wait(&self, path: &str) -> String {
        progress::report(0.0, 1.0);
        while !std::fs::exists(path).is_ok_and(|there| there) {
            std::thread::sleep(Duration::from_millis(1));
        }
        format!("{path} is there")
    }

    /// Takes memory until there is no more, and returns how much it got. For the limit of memory.
    #[tool]
    fn grow_memory(&self) -> String {
        resources::grow_memory()
    }

    /// Takes more memory than there is, without asking if it may. For the limit of memory: the sandbox is ended.
    #[tool]
    fn exhaust_memory(&self) -> usize {
        resources::exhaust_memory()
    }

    /// Opens host resources and keeps them: by default a million. For the limit of handles.
    #[tool]
    fn many_handles(&self, count: Option<u32>) -> String {
        resources::many_handles(count.unwrap_or(1_000_000))
    }

    /// Calls itself without end. For the limit of the stack.
    #[tool]
    fn recurse_forever(&self) -> u64 {
        resources::recurse(1)
    }

    /// Opens host resources and never gives them back: by default fifty. For what is left of a call: nothing.
    #[tool]
    fn leak_handles(&self, count: Option<u32>) -> String {
        wild::leak_handles(count.unwrap_or(50))
    }

    /// Opens each granted folder again and again, and keeps what it opened, if it shall for ever. For open files.
    #[tool]
    fn many_files(&self, count: Option<u32>, hold: Option<bool>) -> String {
        wild::many_files(count.unwrap_or(1_000_000), hold.unwrap_or(false))
    }

    /// Calls itself and the host without end, on the stack that the host shares. For the limit of the stack.
    #[tool]
    fn recurse_through_host(&self, ctx: &Context) -> u64 {
        wild::recurse_through_host(ctx, 1)
    }

    /// Moves memory about in instructions that take long. For the limit of processor time.
    #[tool]
    fn copy_memory(&self) {
        wild::copy_memory();
    }

    /// Asks without end for what is ready at once. For timers, which must go on beside it.
    #[tool]
    fn poll_without_end(&self) {
        wild::poll_without_end();
    }

    /// Waits without end for a hundred things that are ready. For timers, which must go on beside it.
    #[tool]
    fn poll_crowds(&self) {
        wild::poll_crowds();
    }

    /// Waits for nothing. For the host: it refuses.
    #[tool]
    fn poll_nothing(&self) -> String {
        wild::poll_nothing()
    }

    /// Waits for times that have been, and looks at alarms that never come.
    #[tool]
    fn strange_alarms(&self) -> String {
        wild::strange_alarms()
    }

    /// Waits for the last moment that a number can say. For the limit of time by the clock.
    #[tool]
    fn wait_for_the_end_of_time(&self) {
        wild::wait_for_the_end_of_time();
    }

    // --- ends that aren't results ---

    /// Ends its program with handles open, a line unfinished and progress told.
    #[tool]
    fn exit_in_the_middle(&self) {
        wild::exit_in_the_middle();
    }

    /// Panics. The message belongs to the log, not to the caller.
    #[tool]
    fn panic(&self) {
        panic!("the zoo panics as it was asked to");
    }

    /// Runs into an instruction that can't be executed. For traps.
    #[tool]
    fn unreachable_trap(&self) {
        std::process::abort();
    }

    /// Ends its program as if all were well. For exits: the gateway goes on.
    #[tool]
    fn exit(&self, code: Option<i32>) {
        #[expect(clippy::disallowed_methods, reason = "it is what this tool is for")]
        std::process::exit(code.unwrap_or(0));
    }

    /// Returns a result that says it failed.
    #[tool]
    fn error_result(&self, message: Option<String>) -> ToolResult {
        ToolResult::error(message.unwrap_or_else(|| "the tool failed as it was asked to".to_owned()))
    }

    /// Ends in the protocol error for wrong arguments.
    #[tool]
    fn protocol_error_invalid_params(&self) -> Result<(), ToolError> {
        Err(ToolError::invalid_params("these arguments are wrong").at("/place").data(&["more"]))
    }

    /// Ends in the protocol error for what doesn't exist.
    #[tool]
    fn protocol_error_not_found(&self) -> Result<(), ToolError> {
        Err(ToolError::not_found("there is nothing of that name"))
    }

    /// Ends in the protocol error for what broke.
    #[tool]
    fn protocol_error_internal(&self) -> Result<(), ToolError> {
        Err(ToolError::internal("something broke"))
    }

    /// Ends in the protocol error for capabilities that the client lacks.
    #[tool]
    fn protocol_error_missing_capability(&self) -> Result<(), ToolError> {
        Err(ToolError::missing_capability(["sampling", "elicitation.url"]))
    }

    /// Ends in a protocol error with a code of its own.
    #[tool]
    fn protocol_error_custom(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(1234, "an error of the plugin's own"))
    }

    /// Ends in a protocol error with a code that JSON-RPC keeps for itself. For codes: the gateway uses another.
    #[tool]
    fn protocol_error_reserved_code(&self) -> Result<(), ToolError> {
        Err(ToolError::custom(-32601, "method not found, says the plugin"))
    }

    // --- results ---

    /// Returns text: by default 128 MiB. For the limit of a result.
    #[tool]
    fn huge_result(&self, bytes: Option<usize>) -> String {
        output::letters(bytes.unwrap_or(128 << 20))
    }

    /// Returns a hundred thousand blocks of text. For the limit of blocks.
    #[tool]
    fn many_blocks(&self, count: Option<usize>) -> Vec<Content> {
        vec![Content::text("x"); count.unwrap_or(100_000)]
    }

    /// Returns structured content: by default 32 MiB. For the limit of a result.
    #[tool]
    fn huge_structured(&self, bytes: Option<usize>) -> ToolResult {
        output::structured(format!("\"{}\"", output::letters(bytes.unwrap_or(32 << 20))))
    }

    /// Returns structured content that nests: by default 100,000 levels deep. For the reader of JSON.
    #[tool]
    fn deep_structured(&self, levels: Option<usize>) -> ToolResult {
        let levels = levels.unwrap_or(100_000);
        output::structured("[".repeat(levels) + &"]".repeat(levels))
    }

    /// Returns structured content that doesn't fit its schema. For the check of outputs.
    #[tool(output = Number)]
    fn bad_structured(&self) -> ToolResult {
        output::structured(r#"{"n":"not a number"}"#)
    }

    /// Has an output schema and returns no structured content. For the check of outputs.
    #[tool(output = Number)]
    fn missing_structured(&self) -> ToolResult {
        ToolResult::text("no structured content")
    }

    /// Returns structured content that is no JSON. For the check of outputs.
    #[tool]
    fn broken_structured(&self) -> ToolResult {
        output::structured(r#"{"n": 1"#)
    }

    /// Returns structured content that names a key twice. For the check of outputs.
    #[tool(output = Number)]
    fn doubled_structured(&self) -> ToolResult {
        output::structured(r#"{"n":1,"n":"not a number"}"#)
    }

    /// Returns structured content with line breaks between its tokens. For framing by lines: it is still one message.
    #[tool(output = Number)]
    fn structured_with_newlines(&self) -> ToolResult {
        output::structured("{\n  \"n\":\r\n  1\n}\n")
    }

    /// Returns text with characters that turn around what stands beside them. For what people and models see.
    #[tool]
    fn bidi_text(&self) -> &'static str {
        output::BIDI
    }

    /// Returns text with characters that command a terminal, and writes it to the log. For what people see.
    #[tool]
    fn control_characters(&self) -> &'static str {
        log::warning(output::CONTROL);
        output::CONTROL
    }

    #[doc = "Is described with characters that nobody sees:\u{202e} turned\u{202c}, \u{1b}[31mred\u{1b}[0m, \u{e0041}\u{e0042}tagged."]
    #[tool(title = "Zoo\u{7}\u{202e}ooZ")]
    fn strange_description(&self) -> &'static str {
        "described strangely"
    }

    // --- logs, progress, standard streams, changes ---

    /// Writes log lines: by default 100,000. For the limit of log lines.
    #[tool]
    fn log_flood(&self, lines: Option<u32>) -> String {
        says::log_flood(lines.unwrap_or(100_000))
    }

    /// Writes one log line: by default of 16 MiB. For the limit of a log line.
    #[tool]
    fn huge_log_line(&self, bytes: Option<usize>) -> &'static str {
        log::write(LogLevel::Info, output::letters(bytes.unwrap_or(16 << 20)));
        "the log line was written"
    }

    /// Reports progress: by default 100,000 times. For the limit of progress.
    #[tool]
    fn progress_flood(&self, reports: Option<u32>) -> String {
        says::progress_flood(reports.unwrap_or(100_000))
    }

    /// Reports progress that goes backwards. For progress, which only grows.
    #[tool]
    fn progress_backwards(&self) -> &'static str {
        for current in [3.0, 2.0, f64::NAN, f64::INFINITY, 4.0] {
            progress::report(current, 5.0);
        }
        "reported 3, 2, not a number, infinity and 4"
    }

    /// Tells of changes: by default 100,000 times. For notifications: clients hear once.
    #[tool]
    fn changes_flood(&self, count: Option<u32>) -> String {
        says::changes_flood(count.unwrap_or(100_000))
    }

    /// Writes to its standard output: by default 16 MiB. For the limit of output that is kept.
    #[tool]
    fn stdout_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stdout(), bytes.unwrap_or(16 << 20))
    }

    /// Writes to its standard error: by default 16 MiB. For the limit of output that is kept.
    #[tool]
    fn stderr_flood(&self, bytes: Option<usize>) -> String {
        says::flood(&mut std::io::stderr(), bytes.unwrap_or(16 << 20))
    }

    /// Writes JSON-RPC messages to its standard output. For the gateway's own, where they may not appear.
    #[tool]
    fn print_json_rpc(&self) -> String {
        says::print_json_rpc()
    }

    /// Writes forged log lines, commands to a terminal and what is no UTF-8 to its streams. For the log.
    #[tool]
    fn print_bytes(&self) -> String {
        wild::print_bytes()
    }

    /// Writes as many zeros as a number can say to its standard output.
    #[tool]
    fn write_zeros(&self) -> String {
        wild::write_zeros()
    }

    /// Writes more to its standard output than it was told that it may.
    #[tool]
    fn write_unasked(&self) -> String {
        wild::write_unasked()
    }

    // --- ways out ---

    /// Reads its standard input, which is the gateway's business: it is empty.
    #[tool]
    fn read_stdin(&self) -> String {
        wild::read_stdin()
    }

    /// Reads, skips and copies as much of its standard input as a number can say.
    #[tool]
    fn read_hugely(&self) -> String {
        wild::read_hugely()
    }

    /// Returns the variables, arguments and folder that it sees. For grants: there are only those in `allow.env`.
    #[tool]
    fn read_env(&self) -> Json<reach::Surroundings> {
        Json(reach::surroundings())
    }

    /// Returns the folders it was given. For grants: there are only those in `allow.dirs`.
    #[tool]
    fn list_dirs(&self) -> Vec<Content> {
        reach::granted().into_iter().map(Content::text).collect()
    }

    /// Lists a folder. For grants.
    #[tool]
    fn list_dir(&self, path: &str) -> String {
        reach::list(path)
    }

    /// Reads a file. For grants.
    #[tool]
    fn read_file(&self, path: &str) -> String {
        reach::told(std::fs::read_to_string(path))
    }

    /// Writes a file. For grants, and for folders that may only be read.
    #[tool]
    fn write_file(&self, path: &str, text: &str) -> String {
        reach::told(std::fs::write(path, text).map(|()| "written".to_owned()))
    }

    /// Calls the file system as it is told, step by step, and tells what came of each: what it got, or `refused: ` and
    /// the error. For ways out of a directory, and for changes to what may only be read.
    #[tool]
    fn file_steps(&self, steps: &[files::Step]) -> String {
        files::steps(steps)
    }

    /// Reads a file or folder again and again until it is refused. For the limit of what is read from files.
    #[tool]
    fn read_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::READING)?;
        Ok(bytes::read(path, way))
    }

    /// Writes a file again and again until it is refused. For the limit of what is written to files.
    #[tool]
    fn write_without_end(&self, path: &str, way: &str) -> Result<String, ToolError> {
        one_of(way, &bytes::WRITING)?;
        Ok(bytes::write(path, way))
    }

    /// Opens a TCP connection to an address such as `127.0.0.1:80`. For grants: there is no network of that kind.
    #[tool]
    fn connect(&self, address: &str) -> String {
        reach::connect(address)
    }

    /// Resolves the name of a host. For grants: there is no network of that kind.
    #[tool]
    fn resolve_name(&self, name: &str) -> String {
        reach::resolve(name)
    }

    /// Listens at an address such as `127.0.0.1:0`. For grants: there is no network of that kind.
    #[tool]
    fn listen(&self, address: &str) -> String {
        wild::listen(address)
    }

    /// Sends a datagram to an address. For grants: there is no network of that kind.
    #[tool]
    fn send_datagram(&self, address: &str) -> String {
        wild::send_datagram(address)
    }

    /// Asks for sockets of all kinds, and for a name. For grants: there is no network of that kind.
    #[tool]
    fn sockets(&self) -> Vec<Content> {
        wild::sockets().into_iter().map(Content::text).collect()
    }

    /// Opens a file in each granted folder with flags that nobody defined.
    #[tool]
    fn strange_flags(&self) -> String {
        wild::strange_flags()
    }

    /// Asks for bytes that needn't be very random: by default 1 GiB. For what a single host call may give.
    #[tool]
    fn insecure_flood(&self, bytes: Option<u64>) -> String {
        wild::insecure_flood(bytes.unwrap_or(1 << 30))
    }

    /// Sends a request over HTTP and returns what came back. For grants: it goes where `allow.http` lets it.
    #[tool]
    fn http_request(&self, request: &http::Asked) -> Json<http::Answered> {
        Json(http::request(request))
    }

    /// Sends requests one after the other: by default a thousand. For the limit of requests.
    #[tool]
    fn http_many(&self, url: &str, count: Option<u32>) -> String {
        http::many(url, count.unwrap_or(1_000))
    }

    /// Begins requests and reads none of the answers: by default of a thousand. For the limit of requests at once.
    #[tool]
    fn http_at_once(&self, url: &str, count: Option<u32>) -> String {
        http::at_once(url, count.unwrap_or(1_000))
    }

    /// Posts a body: by default of 64 MiB. For the limit of what is sent.
    #[tool]
    fn http_upload(&self, url: &str, bytes: Option<usize>) -> String {
        http::upload_of(url, bytes.unwrap_or(64 << 20))
    }

    /// Posts a body that isn't as long as its header says. For framing: no server sees two messages in one.
    #[tool]
    fn http_lie(&self, url: &str, length: &str, body: &str) -> String {
        http::lie(url, length, body)
    }

    /// Makes a header of a name and a value, whatever they hold. For headers that only the gateway sets.
    #[tool]
    fn http_header(&self, name: &str, value: &str) -> String {
        http::header(name, value)
    }

    /// Adds headers to a list without end. For the limit of headers: the sandbox is ended.
    #[tool]
    fn http_headers_flood(&self) -> u32 {
        http::headers_flood()
    }

    /// Sends a request and never looks at it again. For calls that end while their requests run.
    #[tool]
    fn http_and_hang(&self, url: &str) -> String {
        let asked = http::Asked { url: url.to_owned(), ..http::Asked::default() };
        let _begun = http::begin(&asked);
        std::thread::sleep(Duration::from_secs(365 * 24 * 60 * 60));
        String::new()
    }

    /// Asks for random bytes at once: by default 1 GiB. For what a single host call may give.
    #[tool]
    fn random_flood(&self, bytes: Option<u64>) -> String {
        resources::random_flood(bytes.unwrap_or(1 << 30))
    }

    /// Says that a resource changed that isn't its own. For the space of a plugin: nobody is told.
    #[tool]
    fn change_foreign_resource(&self) -> &'static str {
        changes::resource("test://watched-resource");
        "told of a change of `test://watched-resource`"
    }

    // --- questions ---

    /// Asks the client these questions at once, whatever they are, and returns the answers. For what may be asked.
    #[tool]
    fn ask(&self, ctx: &Context, questions: &[asks::Question]) -> Result<String, ToolError> {
        Ok(asks::ask(ctx, questions)?.to_string())
    }

    /// Asks for a name and greets. For what a person answers.
    #[tool]
    fn ask_name(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Asks one question after the other: by default without end. For rounds.
    #[tool]
    fn ask_in_rounds(&self, ctx: &Context, rounds: Option<usize>) -> Result<String, ToolError> {
        asks::in_rounds(ctx, rounds.unwrap_or(usize::MAX))
    }

    // --- resources and prompts ---

    /// A text.
    #[resource(uri = "zoo://text", name = "text", mime_type = "text/plain")]
    fn text(&self) -> &'static str {
        "a text"
    }

    /// Is answered with the URI of something else. For the space of a plugin.
    #[resource(uri = "zoo://foreign", name = "foreign")]
    fn foreign(&self) -> ReadResult {
        ReadResult::new(vec![ResourceContents::text("file:///etc/passwd", "root")])
    }

    /// Bytes, as many as its URI says. For the limit of a result.
    #[resource(uri = "zoo://bytes/{count}", name = "bytes", mime_type = "application/octet-stream")]
    fn bytes(&self, count: u32) -> Vec<u8> {
        vec![b'x'; count as usize]
    }

    /// A text that holds what somebody answered. For resources that ask.
    #[resource(uri = "zoo://asked", name = "asked", mime_type = "text/plain")]
    fn asked(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Holds what somebody answered. For prompts that ask.
    #[prompt]
    fn asking_prompt(&self, ctx: &Context) -> Result<String, ToolError> {
        asks::name(ctx)
    }

    /// Repeats a text. For load.
    #[prompt]
    fn repeat(&self, text: &str) -> String {
        text.to_owned()
    }

    /// Panics. For prompts that end badly.
    #[prompt]
    fn panicking_prompt(&self) -> String {
        panic!("the zoo panics as it was asked to");
    }
}

/// Is it one of the ways that there are?
fn one_of(way: &str, ways: &[&str]) -> Result<(), ToolError> {
    if ways.contains(&way) {
        return Ok(());
    }
    Err(ToolError::invalid_params(format!("`{way}` is no way; there are {}", ways.join(", "))).at("/way"))
}

#[cfg(test)]
mod tests;
