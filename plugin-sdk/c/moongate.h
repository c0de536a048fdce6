// Moongate plugins in C: the functions and tables that a plugin uses.
//
// A plugin defines the variable `plugin`, a table of its tools, resources and prompts. Each tool is a function that gets its
// arguments as JSON and returns a result. `moongate_testing.h` calls the plugin natively.
//
// Memory: everything that this library and cJSON allocate is valid until the call ends, and is then freed. Never free it
// yourself.
//
// Errors: functions that can fail return `NULL` or `false`. To end the call with the reason, `return mg_stop();`.

#ifndef MOONGATE_H
#define MOONGATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cJSON.h"

#if defined(__GNUC__)
#define MG_PRINTF(text, values) __attribute__((format(printf, text, values)))
#else
#define MG_PRINTF(text, values)
#endif

// JSON without escaped quotes: `MG_JSON({"minimum": 1})` is the string `{"minimum": 1}`.
#define MG_JSON(...) #__VA_ARGS__

// === the plugin ===

// The type of an argument, a result's member, a setting or a form's field.
typedef enum mg_type {
    MG_STRING,
    MG_INTEGER,
    MG_NUMBER,
    MG_BOOLEAN,
    MG_ARRAY,
    MG_OBJECT,
} mg_type;

// A member of a JSON object. Tables of fields end with `{0}`.
typedef struct mg_field {
    const char *name;
    mg_type type;
    const char *description;
    bool optional;
    // More keywords of JSON Schema for the value, as an object: `MG_JSON({"minimum": 1})`.
    const char *schema;
} mg_field;

// A hint on the effects of a tool. Hosts ask the user before calls that can be destructive, which MCP assumes if
// neither `read_only` nor `destructive` is set.
typedef enum mg_hint {
    MG_UNSET,
    MG_YES,
    MG_NO,
} mg_hint;

// The result of a call.
typedef struct mg_result mg_result;

// A function that a model can call. Tables of tools end with `{0}`.
typedef struct mg_tool {
    // Letters, digits, `_` and `-`.
    const char *name;
    // The name shown to people.
    const char *title;
    // What the tool does and when to use it; the model reads it.
    const char *description;
    // The arguments, or `NULL` for a tool without arguments.
    const mg_field *arguments;
    // JSON Schema of the arguments, instead of `arguments`.
    const char *input_schema;
    // The members of the structured result.
    const mg_field *output;
    // JSON Schema of the structured result, instead of `output`.
    const char *output_schema;
    mg_hint read_only;
    mg_hint destructive;
    mg_hint idempotent;
    mg_hint open_world;
    // The gateway has checked the arguments against the schema.
    mg_result *(*call)(const cJSON *arguments);
} mg_tool;

// Data that a host can read. Tables of resources end with `{0}`.
typedef struct mg_resource {
    // A URI such as `notes://all`, or a template such as `notes://days/{day}`. `{name}` matches a path segment, and
    // `{+name}` any string.
    const char *uri;
    const char *name;
    const char *title;
    const char *description;
    const char *mime_type;
    // Returns `mg_text` or `mg_data`. `variables` are those of the template, as strings.
    mg_result *(*read)(const char *uri, const cJSON *variables);
} mg_resource;

// A prepared message that a user chooses from a menu. Tables of prompts end with `{0}`.
typedef struct mg_prompt {
    const char *name;
    const char *title;
    const char *description;
    // Values that the user types; all are strings.
    const mg_field *arguments;
    // `mg_text` creates a message from the user.
    mg_result *(*get)(const cJSON *arguments);
} mg_prompt;

// Suggestions for an argument while the user types it. Tables of completions end with `{0}`.
typedef struct mg_completion {
    // The prompt that has the argument, or
    const char *prompt;
    // the template, exactly as in `mg_resource.uri`.
    const char *resource;
    const char *argument;
    // Returns an array of strings, the best suggestion first. Clients get at most 100. `others` contains the arguments that
    // are already filled in, as strings. Clients can call this at every keystroke. It can't ask questions.
    cJSON *(*suggest)(const char *typed, const cJSON *others);
} mg_completion;

// A plugin.
typedef struct mg_plugin {
    const char *name;
    const char *version;
    const char *title;
    const char *description;
    // Advice for the model on using the plugin.
    const char *instructions;
    const mg_tool *tools;
    const mg_resource *resources;
    const mg_prompt *prompts;
    const mg_completion *completions;
    // Settings in `[plugins.<name>.config]` of `gateway.toml`, which the gateway checks.
    const mg_field *settings;
} mg_plugin;

// Every plugin defines this.
extern const mg_plugin plugin;

// === arguments ===

// The string `name` of an object, or `NULL` if it is missing or isn't a string.
const char *mg_string(const cJSON *object, const char *name);

// The number `name` of an object, or `fallback`.
double mg_number(const cJSON *object, const char *name, double fallback);

// The integer `name` of an object, or `fallback`. JSON numbers above 2^53 aren't exact.
int64_t mg_integer(const cJSON *object, const char *name, int64_t fallback);

// The boolean `name` of an object, or `fallback`.
bool mg_boolean(const cJSON *object, const char *name, bool fallback);

// === results ===

// Text for the model, formatted as by `printf`.
mg_result *mg_text(const char *format, ...) MG_PRINTF(1, 2);

// A structured result, and the same value as JSON text. `mg_tool.output` is its schema. `NULL` is the same
// as `mg_stop`.
mg_result *mg_structured(cJSON *value);

// Binary data of a resource.
mg_result *mg_data(const void *data, size_t size);

// A failure that the model can recover from; it reads the message.
mg_result *mg_fail(const char *format, ...) MG_PRINTF(1, 2);

// A failure that names a file and the reason in `errno`: "`notes.txt`: No such file or directory".
mg_result *mg_file_error(const char *path);

// Kinds of JSON-RPC errors.
typedef enum mg_error_kind {
    // An argument is invalid in a way that the schema can't express.
    MG_INVALID_PARAMS = 1,
    // There is no item with the requested name or URI.
    MG_NOT_FOUND,
    // An internal error that isn't the caller's fault.
    MG_INTERNAL,
} mg_error_kind;

// A JSON-RPC error for the client program; the model may never see it.
mg_result *mg_protocol_error(mg_error_kind kind, const char *format, ...) MG_PRINTF(2, 3);

// Ends the call because a function of this library returned `NULL` or `false`: with its error, or with the question for the
// client.
mg_result *mg_stop(void);

// Add a block of content to a result, and return the result.
mg_result *mg_add_text(mg_result *result, const char *format, ...) MG_PRINTF(2, 3);
mg_result *mg_add_image(mg_result *result, const void *data, size_t size, const char *mime_type);
mg_result *mg_add_audio(mg_result *result, const void *data, size_t size, const char *mime_type);
mg_result *mg_add_link(mg_result *result, const char *uri, const char *name, const char *mime_type);

// Add a message from the model to the result of a prompt, and return the result.
mg_result *mg_add_reply(mg_result *result, const char *format, ...) MG_PRINTF(2, 3);

// === memory and text ===

// Memory that is freed when the call ends. If there is none left, the call ends as a crash.
void *mg_alloc(size_t size);

// A formatted string.
char *mg_format(const char *format, ...) MG_PRINTF(1, 2);

// Bytes, followed by a null byte that `size` doesn't count. `data` is `NULL` if there are none.
typedef struct mg_bytes {
    char *data;
    size_t size;
} mg_bytes;

// The content of a file; `data` is `NULL` if it can't be read, and `errno` is the reason.
mg_bytes mg_read_file(const char *path);

// === settings and the request ===

// A setting of `[plugins.<name>.config]`: a string as it is, every other value as JSON. `NULL` if it isn't set.
const char *mg_setting(const char *key);

// Like `mg_setting`, but a missing setting is an error.
const char *mg_required_setting(const char *key);

// The authenticated caller, or `NULL` if the gateway doesn't authenticate callers.
const char *mg_principal(void);

// The client program's name, or `NULL`. Don't trust it.
const char *mg_client_name(void);

// The MCP revision of the request, such as `2026-07-28`, or `NULL`.
const char *mg_revision(void);

// A member of the request's `_meta`, or `NULL`.
cJSON *mg_meta(const char *key);

// The time left for the call in milliseconds, or -1 if it isn't limited.
int64_t mg_remaining_ms(void);

// True if the client cancelled the call or disconnected.
bool mg_cancelled(void);

// === log, progress and changes ===

// The severities of RFC 5424.
typedef enum mg_log_level {
    MG_DEBUG,
    MG_INFO,
    MG_NOTICE,
    MG_WARNING,
    MG_ERROR,
    MG_CRITICAL,
    MG_ALERT,
    MG_EMERGENCY,
} mg_log_level;

// Write a message to the gateway's log and to clients that request it. It must not contain secrets.
void mg_log(mg_log_level level, const char *format, ...) MG_PRINTF(2, 3);
void mg_log_json(mg_log_level level, const cJSON *data);

// Report `current` of `total`, which is 0 if it is unknown. `current` must increase. `message` can be `NULL`.
void mg_progress(double current, double total, const char *message);

// The data of a resource has changed.
void mg_resource_updated(const char *uri);

// === state ===
//
// Each call starts with empty memory. The state is kept between calls, if the operator sets `allow.state = true`.

// The value of `key`, or `fallback` if there is none. `NULL` if it can't be read, or if `fallback` is `NULL`: then there is no
// error for `mg_stop`.
cJSON *mg_state_get(const char *key, cJSON *fallback);

// Store a value, or remove one.
bool mg_state_set(const char *key, const cJSON *value);
bool mg_state_delete(const char *key);

// All keys, an array of strings, in no particular order.
cJSON *mg_state_keys(void);

// Add `delta` to an integer atomically. A missing key counts as 0. `sum` gets the new value.
bool mg_state_increment(const char *key, int64_t delta, int64_t *sum);

// Replace a value atomically with the result of `change`, and return the new value. If another call changes the value in
// the meantime, `change` is called again with the current one. If `change` returns `NULL`, nothing changes, and the result is
// `NULL`, without an error for `mg_stop`.
cJSON *mg_state_update(const char *key, cJSON *fallback, cJSON *(*change)(cJSON *old, void *context), void *context);

// The same for bytes. `value.data` is `NULL` if there is no value.
bool mg_state_get_bytes(const char *key, mg_bytes *value);
bool mg_state_set_bytes(const char *key, const void *data, size_t size);

// === HTTP ===

// A request. Fields that aren't set have defaults.
typedef struct mg_request {
    // Such as `PUT`. Default: `GET`, or `POST` if there is a body.
    const char *method;
    const char *url;
    // Names and values in turn, ended by `NULL`.
    const char *const *headers;
    // The body. If `size` is 0, the body is a string.
    const void *body;
    size_t size;
    // A body in JSON, instead of `body`.
    const cJSON *json;
    // In seconds; the call's own limit always applies.
    double timeout;
    // The largest body of a response, in bytes. Default: 16 MiB.
    size_t max_body;
} mg_request;

// A response with its whole body.
typedef struct mg_response {
    int status;
    mg_bytes body;
    // Names and values in turn, ended by `NULL`. Names are lower-case.
    const char **headers;
    // The URL, after redirects.
    const char *url;
} mg_response;

// Send a request, follow redirects, and return the response. The operator grants hosts with `allow.http`, and sets API
// keys with `allow.credentials`, so the plugin never sees them.
mg_response *mg_send(const mg_request *request);

// Send a GET request. A status of 400 or higher is an error.
mg_response *mg_get(const char *url);

// Send a GET request, and return the JSON of the response.
cJSON *mg_get_json(const char *url);

// A header of a response, or `NULL`. `name` is lower-case.
const char *mg_header(const mg_response *response, const char *name);

// True for a status below 400; otherwise the status is the error of `mg_stop`.
bool mg_is_success(const mg_response *response);

// Text, encoded for a part of a URL, such as a value in a query.
char *mg_encode(const char *text);

// === questions ===
//
// The operator allows questions with `allow.client`. The call ends with the question, and starts again from the top with the
// answer. Ask first, and act afterwards.

// Ask the user to fill in a form. `NULL` if there is no answer yet, or if the user declined.
const cJSON *mg_ask(const char *key, const char *message, const mg_field *fields);

// Send an MCP request to the client, such as `sampling/createMessage` or `roots/list`, and return its result. `params` can be
// `NULL`. `NULL` if there is no answer yet.
const cJSON *mg_ask_client(const char *key, const char *method, const cJSON *params);

// Run `work` once for the whole call, even if the call starts again with an answer, and return its result. Later rounds get
// the stored result. It travels through the client, sealed by the gateway, so keep it small. It is stored only if the call
// asks a question afterwards. If `work` returns `NULL`, nothing is stored, and the result is `NULL`. Use each key only once in
// a call.
const cJSON *mg_once(const char *key, cJSON *(*work)(void *context), void *context);

#endif
