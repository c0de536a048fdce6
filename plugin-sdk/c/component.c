// The contract's exports, and the gateway's functions, in a component.

#ifdef __wasm__

#include <stdlib.h>
#include <string.h>

#include "bindings/contract.h"
#include "internal.h"

// === strings ===

// A string of the gateway, copied and freed.
static char *taken(contract_string_t *string) {
    char *copy = mg_copy(string->ptr, string->len);
    contract_string_free(string);
    return copy;
}

// A string that the gateway reads but doesn't keep.
static contract_string_t lent(const char *text) {
    return (contract_string_t){(uint8_t *)text, strlen(text)};
}

// A string that the gateway frees.
static contract_string_t given(const char *text) {
    contract_string_t string;
    contract_string_dup(&string, text ? text : "");
    return string;
}

static contract_option_string_t maybe(const char *text) {
    return text ? (contract_option_string_t){true, given(text)} : (contract_option_string_t){0};
}

static contract_option_bool_t hint(mg_hint hint) {
    return (contract_option_bool_t){hint != MG_UNSET, hint == MG_YES};
}

// Zeroed memory that the gateway frees. `NULL` for no items.
static void *items(size_t count, size_t size) {
    if (!count) return NULL;
    void *memory = calloc(count, size);
    if (!memory) abort();
    return memory;
}

static mg_bytes taken_bytes(contract_list_u8_t *list) {
    mg_bytes bytes = {mg_copy(list->ptr, list->len), list->len};
    contract_list_u8_free(list);
    return bytes;
}

// === the request ===

const char *mg_principal(void) {
    contract_string_t found;
    return moongate_plugin_request_principal(&found) ? taken(&found) : NULL;
}

const char *mg_client_name(void) {
    moongate_plugin_request_client_info_t client;
    if (!moongate_plugin_request_client(&client)) return NULL;
    const char *name = mg_copy(client.name.ptr, client.name.len);
    moongate_plugin_request_client_info_free(&client);
    return name;
}

const char *mg_revision(void) {
    contract_string_t found;
    return moongate_plugin_request_revision(&found) ? taken(&found) : NULL;
}

cJSON *mg_meta(const char *key) {
    contract_string_t name = lent(key);
    contract_string_t found;
    return moongate_plugin_request_meta_value(&name, &found) ? cJSON_Parse(taken(&found)) : NULL;
}

int64_t mg_remaining_ms(void) {
    uint32_t left;
    return moongate_plugin_request_remaining_ms(&left) ? left : -1;
}

bool mg_cancelled(void) {
    return moongate_plugin_request_cancelled();
}

const char *mg_host_answer(const char *key) {
    contract_string_t name = lent(key);
    contract_string_t found;
    return moongate_plugin_request_answer(&name, &found) ? taken(&found) : NULL;
}

const char *mg_host_round_state(void) {
    contract_list_u8_t found;
    return moongate_plugin_request_state(&found) ? taken_bytes(&found).data : NULL;
}

void mg_host_begin_once(const char *key) {
    (void)key;
}

void mg_host_end_once(void) {}

// === log, progress, changes and settings ===

void mg_host_log(mg_log_level level, const char *json) {
    contract_string_t data = lent(json);
    moongate_plugin_log_write((moongate_plugin_log_log_level_t)level, NULL, &data);
}

void mg_progress(double current, double total, const char *message) {
    contract_string_t text = lent(message ? message : "");
    moongate_plugin_progress_report(current, total > 0 ? &total : NULL, message ? &text : NULL);
}

void mg_resource_updated(const char *uri) {
    contract_string_t name = lent(uri);
    moongate_plugin_changes_resource_updated(&name);
}

bool mg_host_setting(const char *key, const char **value) {
    contract_string_t name = lent(key);
    contract_option_string_t found;
    wasi_config_store_error_t error;
    if (!wasi_config_store_get(&name, &found, &error)) {
        // Both cases contain a message.
        mg_set_error("cannot read the configuration: %s", taken(&error.val.upstream));
        return false;
    }
    *value = found.is_some ? taken(&found.val) : NULL;
    return true;
}

// === state ===

static bool state_failed(wasi_keyvalue_store_error_t *error) {
    if (error->tag == WASI_KEYVALUE_STORE_ERROR_OTHER) {
        mg_set_error("%s", taken(&error->val.other));
    } else {
        mg_set_error("state isn't granted; an operator can allow it");
    }
    return false;
}

// The state of this plugin. A handle is opened once for each instance.
static bool open_state(wasi_keyvalue_store_borrow_bucket_t *bucket) {
    static bool is_open;
    static wasi_keyvalue_store_own_bucket_t opened;
    contract_string_t name = lent("default");
    wasi_keyvalue_store_error_t error;
    if (!is_open && !wasi_keyvalue_store_open(&name, &opened, &error)) return state_failed(&error);
    is_open = true;
    *bucket = wasi_keyvalue_store_borrow_bucket(opened);
    return true;
}

bool mg_state_get_bytes(const char *key, mg_bytes *value) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    contract_string_t name = lent(key);
    contract_option_list_u8_t found;
    wasi_keyvalue_store_error_t error;
    if (!open_state(&bucket)) return false;
    if (!wasi_keyvalue_store_method_bucket_get(bucket, &name, &found, &error)) return state_failed(&error);
    *value = found.is_some ? taken_bytes(&found.val) : (mg_bytes){0};
    return true;
}

bool mg_state_set_bytes(const char *key, const void *data, size_t size) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    contract_string_t name = lent(key);
    contract_list_u8_t value = {(uint8_t *)data, size};
    wasi_keyvalue_store_error_t error;
    if (!open_state(&bucket)) return false;
    return wasi_keyvalue_store_method_bucket_set(bucket, &name, &value, &error) || state_failed(&error);
}

bool mg_state_delete(const char *key) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    contract_string_t name = lent(key);
    wasi_keyvalue_store_error_t error;
    if (!open_state(&bucket)) return false;
    return wasi_keyvalue_store_method_bucket_delete(bucket, &name, &error) || state_failed(&error);
}

cJSON *mg_state_keys(void) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    if (!open_state(&bucket)) return NULL;
    cJSON *keys = cJSON_CreateArray();
    const char *cursor = NULL;
    do {
        contract_string_t after = lent(cursor ? cursor : "");
        wasi_keyvalue_store_key_response_t page;
        wasi_keyvalue_store_error_t error;
        if (!wasi_keyvalue_store_method_bucket_list_keys(bucket, cursor ? &after : NULL, &page, &error)) {
            state_failed(&error);
            return NULL;
        }
        for (size_t i = 0; i < page.keys.len; i++) {
            cJSON_AddItemToArray(keys, cJSON_CreateString(mg_copy(page.keys.ptr[i].ptr, page.keys.ptr[i].len)));
        }
        cursor = page.cursor.is_some ? mg_copy(page.cursor.val.ptr, page.cursor.val.len) : NULL;
        contract_list_string_free(&page.keys);
        contract_option_string_free(&page.cursor);
    } while (cursor);
    return keys;
}

bool mg_state_increment(const char *key, int64_t delta, int64_t *sum) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    contract_string_t name = lent(key);
    wasi_keyvalue_store_error_t error;
    if (!open_state(&bucket)) return false;
    return wasi_keyvalue_atomics_increment(bucket, &name, delta, sum, &error) || state_failed(&error);
}

struct mg_snapshot {
    wasi_keyvalue_atomics_own_cas_t cas;
};

mg_snapshot *mg_host_snapshot(const char *key) {
    wasi_keyvalue_store_borrow_bucket_t bucket;
    contract_string_t name = lent(key);
    wasi_keyvalue_store_error_t error;
    mg_snapshot *snapshot = mg_alloc(sizeof *snapshot);
    if (!open_state(&bucket)) return NULL;
    if (wasi_keyvalue_atomics_static_cas_new(bucket, &name, &snapshot->cas, &error)) return snapshot;
    state_failed(&error);
    return NULL;
}

bool mg_host_snapshot_value(mg_snapshot *snapshot, mg_bytes *value) {
    contract_option_list_u8_t found;
    wasi_keyvalue_store_error_t error;
    wasi_keyvalue_atomics_borrow_cas_t cas = wasi_keyvalue_atomics_borrow_cas(snapshot->cas);
    if (!wasi_keyvalue_atomics_method_cas_current(cas, &found, &error)) return state_failed(&error);
    *value = found.is_some ? taken_bytes(&found.val) : (mg_bytes){0};
    return true;
}

mg_swap mg_host_swap(mg_snapshot **snapshot, const void *data, size_t size) {
    contract_list_u8_t value = {(uint8_t *)data, size};
    wasi_keyvalue_atomics_cas_error_t error;
    if (wasi_keyvalue_atomics_swap((*snapshot)->cas, &value, &error)) return MG_SWAPPED;
    if (error.tag == WASI_KEYVALUE_ATOMICS_CAS_ERROR_CAS_FAILED) {
        (*snapshot)->cas = error.val.cas_failed;
        return MG_SWAP_CHANGED;
    }
    state_failed(&error.val.store_error);
    return MG_SWAP_FAILED;
}

// === exports ===

void exports_moongate_plugin_lifecycle_describe(exports_moongate_plugin_lifecycle_plugin_info_t *info) {
    mg_begin();
    *info = (exports_moongate_plugin_lifecycle_plugin_info_t){
        .name = given(plugin.name),
        .version = given(plugin.version),
        .title = maybe(plugin.title),
        .description = maybe(plugin.description),
        .instructions = maybe(plugin.instructions),
    };
    if (plugin.settings) {
        char *schema = cJSON_PrintUnformatted(mg_fields_schema(plugin.settings, false));
        info->config_schema.is_some = true;
        info->config_schema.val = given(schema);
    }
}

// A content block. The gateway reads everything but texts from its JSON.
static moongate_plugin_types_content_t block_of(const cJSON *block) {
    const char *text = mg_string(block, "text");
    if (text) {
        return (moongate_plugin_types_content_t){
            .tag = MOONGATE_PLUGIN_TYPES_CONTENT_TEXT, .val.text.text = given(text),
        };
    }
    return (moongate_plugin_types_content_t){
        .tag = MOONGATE_PLUGIN_TYPES_CONTENT_OTHER, .val.other = given(cJSON_PrintUnformatted(block)),
    };
}

static moongate_plugin_types_need_input_t questions_of(const mg_result *result) {
    moongate_plugin_types_need_input_t asked = {0};
    asked.requests.ptr = items((size_t)cJSON_GetArraySize(result->questions), sizeof *asked.requests.ptr);
    const cJSON *question;
    cJSON_ArrayForEach(question, result->questions) {
        moongate_plugin_types_input_request_t *request = &asked.requests.ptr[asked.requests.len++];
        request->key = given(mg_string(question, "key"));
        request->method = given(mg_string(question, "method"));
        const cJSON *params = cJSON_GetObjectItemCaseSensitive(question, "params");
        if (params) {
            request->params.is_some = true;
            request->params.val = given(cJSON_PrintUnformatted(params));
        }
    }
    if (result->round_state) {
        contract_string_t state = given(result->round_state);
        asked.state.is_some = true;
        asked.state.val = (contract_list_u8_t){state.ptr, state.len};
    }
    return asked;
}

// The JSON-RPC error of a result. Only tools can report failures as a result.
static bool has_failure(const mg_result *result, bool is_tool, moongate_plugin_types_failure_t *failure) {
    if (!result->error && (is_tool || !result->failed)) return false;
    moongate_plugin_types_fault_t fault = {.message = given(result->message)};
    *failure = (moongate_plugin_types_failure_t){0};
    switch (result->error) {
        case MG_INVALID_PARAMS:
            failure->tag = MOONGATE_PLUGIN_TYPES_FAILURE_INVALID_PARAMS;
            failure->val.invalid_params = fault;
            break;
        case MG_NOT_FOUND:
            failure->tag = MOONGATE_PLUGIN_TYPES_FAILURE_NOT_FOUND;
            failure->val.not_found = fault;
            break;
        default:
            failure->tag = MOONGATE_PLUGIN_TYPES_FAILURE_INTERNAL;
            failure->val.internal = fault;
    }
    return true;
}

bool exports_moongate_plugin_tools_list_tools(
    exports_moongate_plugin_tools_list_tool_t *list, exports_moongate_plugin_tools_failure_t *failure
) {
    (void)failure;
    mg_begin();
    *list = (exports_moongate_plugin_tools_list_tool_t){0};
    size_t count = 0;
    while (plugin.tools && plugin.tools[count].name) count++;
    list->ptr = items(count, sizeof *list->ptr);
    for (; list->len < count; list->len++) {
        const mg_tool *tool = &plugin.tools[list->len];
        exports_moongate_plugin_tools_tool_t *described = &list->ptr[list->len];
        const char *output = mg_output_schema(tool);
        described->name = given(tool->name);
        described->title = maybe(tool->title);
        described->description = maybe(tool->description);
        described->input_schema = given(mg_input_schema(tool));
        described->output_schema.is_some = output != NULL;
        if (output) described->output_schema.val = given(output);
        described->annotations.is_some = true;
        described->annotations.val = (exports_moongate_plugin_tools_tool_annotations_t){
            .read_only = hint(tool->read_only),
            .destructive = hint(tool->destructive),
            .idempotent = hint(tool->idempotent),
            .open_world = hint(tool->open_world),
        };
    }
    return true;
}

bool exports_moongate_plugin_tools_call_tool(
    contract_string_t *name, contract_string_t *args, exports_moongate_plugin_tools_call_outcome_t *outcome,
    exports_moongate_plugin_tools_failure_t *failure
) {
    mg_begin();
    const char *tool = taken(name);
    mg_result *result = mg_call_tool(tool, taken(args));
    if (has_failure(result, true, failure)) return false;
    *outcome = (exports_moongate_plugin_tools_call_outcome_t){0};
    if (result->questions) {
        outcome->tag = EXPORTS_MOONGATE_PLUGIN_TOOLS_CALL_OUTCOME_NEED_INPUT;
        outcome->val.need_input = questions_of(result);
        return true;
    }
    exports_moongate_plugin_tools_call_result_t *done = &outcome->val.done;
    done->content.ptr = items((size_t)cJSON_GetArraySize(result->content), sizeof *done->content.ptr);
    const cJSON *block;
    cJSON_ArrayForEach(block, result->content) done->content.ptr[done->content.len++] = block_of(block);
    if (result->structured) {
        done->structured.is_some = true;
        done->structured.val = given(cJSON_PrintUnformatted(result->structured));
    }
    done->is_error = (contract_option_bool_t){result->failed, result->failed};
    return true;
}

bool exports_moongate_plugin_resources_list_resources(
    exports_moongate_plugin_resources_list_resource_info_t *list, exports_moongate_plugin_resources_failure_t *failure
) {
    (void)failure;
    mg_begin();
    *list = (exports_moongate_plugin_resources_list_resource_info_t){0};
    size_t count = 0;
    while (plugin.resources && plugin.resources[count].uri) count++;
    list->ptr = items(count, sizeof *list->ptr);
    for (size_t i = 0; i < count; i++) {
        const mg_resource *resource = &plugin.resources[i];
        if (mg_is_template(resource->uri)) continue;
        moongate_plugin_types_resource_info_t *described = &list->ptr[list->len++];
        described->uri = given(resource->uri);
        described->name = given(resource->name ? resource->name : resource->uri);
        described->title = maybe(resource->title);
        described->description = maybe(resource->description);
        described->mime_type = maybe(resource->mime_type);
    }
    if (!list->len) free(list->ptr);
    return true;
}

bool exports_moongate_plugin_resources_list_templates(
    exports_moongate_plugin_resources_list_resource_template_t *list, exports_moongate_plugin_resources_failure_t *failure
) {
    (void)failure;
    mg_begin();
    *list = (exports_moongate_plugin_resources_list_resource_template_t){0};
    size_t count = 0;
    while (plugin.resources && plugin.resources[count].uri) count++;
    list->ptr = items(count, sizeof *list->ptr);
    for (size_t i = 0; i < count; i++) {
        const mg_resource *resource = &plugin.resources[i];
        if (!mg_is_template(resource->uri)) continue;
        exports_moongate_plugin_resources_resource_template_t *described = &list->ptr[list->len++];
        described->uri_template = given(resource->uri);
        described->name = given(resource->name ? resource->name : resource->uri);
        described->title = maybe(resource->title);
        described->description = maybe(resource->description);
        described->mime_type = maybe(resource->mime_type);
    }
    if (!list->len) free(list->ptr);
    return true;
}

bool exports_moongate_plugin_resources_read_resource(
    contract_string_t *uri, exports_moongate_plugin_resources_read_outcome_t *outcome,
    exports_moongate_plugin_resources_failure_t *failure
) {
    mg_begin();
    const char *address = taken(uri);
    const mg_resource *resource = NULL;
    mg_result *result = mg_read_resource(address, &resource);
    if (has_failure(result, false, failure)) return false;
    *outcome = (exports_moongate_plugin_resources_read_outcome_t){0};
    if (result->questions) {
        outcome->tag = EXPORTS_MOONGATE_PLUGIN_RESOURCES_READ_OUTCOME_NEED_INPUT;
        outcome->val.need_input = questions_of(result);
        return true;
    }
    exports_moongate_plugin_resources_read_result_t *done = &outcome->val.done;
    done->contents.ptr = items((size_t)cJSON_GetArraySize(result->content), sizeof *done->contents.ptr);
    const cJSON *block;
    cJSON_ArrayForEach(block, result->content) {
        moongate_plugin_types_resource_contents_t *contents = &done->contents.ptr[done->contents.len++];
        contents->uri = given(address);
        contents->mime_type = maybe(resource->mime_type);
        const char *text = mg_string(block, "text");
        mg_bytes data = {0};
        if (text) {
            contents->body.tag = MOONGATE_PLUGIN_TYPES_RESOURCE_BODY_TEXT;
            contents->body.val.text = given(text);
        } else if (mg_string(block, "blob") && mg_from_base64(mg_string(block, "blob"), &data)) {
            contents->body.tag = MOONGATE_PLUGIN_TYPES_RESOURCE_BODY_BLOB;
            contents->body.val.blob.ptr = items(data.size, 1);
            contents->body.val.blob.len = data.size;
            if (data.size) memcpy(contents->body.val.blob.ptr, data.data, data.size);
        }
    }
    return true;
}

bool exports_moongate_plugin_prompts_list_prompts(
    exports_moongate_plugin_prompts_list_prompt_t *list, exports_moongate_plugin_prompts_failure_t *failure
) {
    (void)failure;
    mg_begin();
    *list = (exports_moongate_plugin_prompts_list_prompt_t){0};
    size_t count = 0;
    while (plugin.prompts && plugin.prompts[count].name) count++;
    list->ptr = items(count, sizeof *list->ptr);
    for (; list->len < count; list->len++) {
        const mg_prompt *prompt = &plugin.prompts[list->len];
        exports_moongate_plugin_prompts_prompt_t *described = &list->ptr[list->len];
        described->name = given(prompt->name);
        described->title = maybe(prompt->title);
        described->description = maybe(prompt->description);
        size_t fields = 0;
        while (prompt->arguments && prompt->arguments[fields].name) fields++;
        described->args.is_some = true;
        described->args.val.ptr = items(fields, sizeof *described->args.val.ptr);
        for (size_t i = 0; i < fields; i++) {
            const mg_field *field = &prompt->arguments[i];
            described->args.val.ptr[described->args.val.len++] = (exports_moongate_plugin_prompts_prompt_argument_t){
                .name = given(field->name),
                .description = maybe(field->description),
                .required = {true, !field->optional},
            };
        }
    }
    return true;
}

// Arguments as an object, copied and freed.
static cJSON *taken_arguments(contract_list_tuple2_string_string_t *list) {
    cJSON *arguments = cJSON_CreateObject();
    for (size_t i = 0; i < list->len; i++) {
        const char *key = mg_copy(list->ptr[i].f0.ptr, list->ptr[i].f0.len);
        cJSON_AddStringToObject(arguments, key, mg_copy(list->ptr[i].f1.ptr, list->ptr[i].f1.len));
    }
    contract_list_tuple2_string_string_free(list);
    return arguments;
}

bool exports_moongate_plugin_prompts_get_prompt(
    contract_string_t *name, contract_list_tuple2_string_string_t *args,
    exports_moongate_plugin_prompts_prompt_outcome_t *outcome, exports_moongate_plugin_prompts_failure_t *failure
) {
    mg_begin();
    cJSON *arguments = taken_arguments(args);
    mg_result *result = mg_get_prompt(taken(name), arguments);
    if (has_failure(result, false, failure)) return false;
    *outcome = (exports_moongate_plugin_prompts_prompt_outcome_t){0};
    if (result->questions) {
        outcome->tag = EXPORTS_MOONGATE_PLUGIN_PROMPTS_PROMPT_OUTCOME_NEED_INPUT;
        outcome->val.need_input = questions_of(result);
        return true;
    }
    exports_moongate_plugin_prompts_prompt_result_t *done = &outcome->val.done;
    done->messages.ptr = items((size_t)cJSON_GetArraySize(result->content), sizeof *done->messages.ptr);
    const cJSON *block;
    cJSON_ArrayForEach(block, result->content) {
        done->messages.ptr[done->messages.len++] = (exports_moongate_plugin_prompts_prompt_message_t){
            .role = mg_string(block, "role") ? MOONGATE_PLUGIN_TYPES_ROLE_ASSISTANT : MOONGATE_PLUGIN_TYPES_ROLE_USER,
            .content = block_of(block),
        };
    }
    return true;
}

bool exports_moongate_plugin_completions_complete(
    exports_moongate_plugin_completions_completion_target_t *target, contract_string_t *name, contract_string_t *value,
    contract_list_tuple2_string_string_t *others, exports_moongate_plugin_completions_completion_t *completion,
    exports_moongate_plugin_completions_failure_t *failure
) {
    mg_begin();
    // Both cases contain a string.
    bool is_prompt = target->tag == EXPORTS_MOONGATE_PLUGIN_COMPLETIONS_COMPLETION_TARGET_PROMPT;
    const char *owner = taken(&target->val.prompt);
    const char *argument = taken(name);
    const char *typed = taken(value);
    const cJSON *values = mg_suggest(is_prompt, owner, argument, typed, taken_arguments(others));
    if (!values) {
        *failure = (moongate_plugin_types_failure_t){
            .tag = MOONGATE_PLUGIN_TYPES_FAILURE_INTERNAL, .val.internal.message = given(mg_error()),
        };
        return false;
    }
    *completion = (exports_moongate_plugin_completions_completion_t){0};
    completion->values.ptr = items((size_t)cJSON_GetArraySize(values), sizeof *completion->values.ptr);
    const cJSON *suggestion;
    cJSON_ArrayForEach(suggestion, values) {
        completion->values.ptr[completion->values.len++] = given(cJSON_GetStringValue(suggestion));
    }
    return true;
}

#else

// A translation unit isn't empty in ISO C.
typedef int mg_no_component;

#endif
