// Internal parts of the library, not for plugins.

#ifndef MOONGATE_INTERNAL_H
#define MOONGATE_INTERNAL_H

#include "moongate.h"

struct mg_result {
    // MCP content blocks, or messages of a prompt.
    cJSON *content;
    cJSON *structured;
    bool failed;
    // A JSON-RPC error, if it isn't 0.
    mg_error_kind error;
    const char *message;
    // Requests to the client: objects with `key`, `method` and `params`.
    cJSON *questions;
    // The state for the next round, as JSON, if there are questions. `NULL` if there is none.
    const char *round_state;
};

// === the plugin's side, called by component.c and testing.c ===

// Starts a call: frees the memory of the previous one, and forgets its error and questions.
void mg_begin(void);

// Forgets the error and the questions, and keeps the memory.
void mg_reset(void);

mg_result *mg_call_tool(const char *name, const char *arguments);
mg_result *mg_read_resource(const char *uri, const mg_resource **resource);
mg_result *mg_get_prompt(const char *name, cJSON *arguments);

// The suggestions for an argument of a prompt or a template: an array of strings. `NULL` if the plugin's function failed;
// `mg_error` then returns the reason.
cJSON *mg_suggest(bool is_prompt, const char *owner, const char *argument, const char *typed, const cJSON *others);

// JSON Schemas. `NULL` if the tool has no structured result.
char *mg_input_schema(const mg_tool *tool);
char *mg_output_schema(const mg_tool *tool);

// JSON Schema of an object. Optional members can be `null` unless it is for a form.
cJSON *mg_fields_schema(const mg_field *fields, bool is_form);

bool mg_is_template(const char *uri);

// Sets the error of `mg_stop`. Returns `NULL`.
void *mg_set_error(const char *format, ...) MG_PRINTF(1, 2);

// The error of `mg_stop`, or `NULL`.
const char *mg_error(void);

// Enlarges memory of `mg_alloc`, or allocates it for `NULL`.
void *mg_resize(void *memory, size_t size);

// A copy with a null byte at the end.
char *mg_copy(const void *data, size_t size);

char *mg_base64(const void *data, size_t size);
bool mg_from_base64(const char *text, mg_bytes *data);

// === the gateway's side, implemented by component.c and testing.c ===

// Returns false if the setting can't be read. `value` is `NULL` if it isn't set.
bool mg_host_setting(const char *key, const char **value);

void mg_host_log(mg_log_level level, const char *json);

// The answer to a question, as JSON, or `NULL`.
const char *mg_host_answer(const char *key);

// The state of the previous round, as JSON, or `NULL`.
const char *mg_host_round_state(void);

// Called before and after the work of `mg_once`. Only tests need them.
void mg_host_begin_once(const char *key);
void mg_host_end_once(void);

// The value of a key at one time.
typedef struct mg_snapshot mg_snapshot;
mg_snapshot *mg_host_snapshot(const char *key);
bool mg_host_snapshot_value(mg_snapshot *snapshot, mg_bytes *value);

typedef enum mg_swap {
    MG_SWAPPED,
    MG_SWAP_FAILED,
    // The value has changed, and the snapshot is a new one.
    MG_SWAP_CHANGED,
} mg_swap;
mg_swap mg_host_swap(mg_snapshot **snapshot, const void *data, size_t size);

// One request, without redirects.
typedef struct mg_outgoing {
    const char *method;
    bool is_https;
    const char *authority;
    const char *path;
    // `https://host:port`, for messages.
    const char *origin;
    const char *url;
    const char *const *headers;
    const void *body;
    size_t size;
    double timeout;
    size_t max_body;
} mg_outgoing;
bool mg_host_send(const mg_outgoing *request, mg_response *response);

#endif
