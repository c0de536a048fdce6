// Memory, arguments and results.

#include <errno.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "internal.h"

// === memory ===

// A block of memory of the current call, before its data.
typedef union mg_block {
    union mg_block *next;
    max_align_t alignment;
} mg_block;

static mg_block *blocks;
static const char *last_error;
static cJSON *questions;
// The results of `mg_once` by key, read from the previous round on first use.
static cJSON *once_results;

static _Noreturn void out_of_memory(void) {
    fputs("out of memory\n", stderr);
    abort();
}

void *mg_alloc(size_t size) {
    mg_block *block = size < SIZE_MAX - sizeof *block ? malloc(sizeof *block + size) : NULL;
    if (!block) out_of_memory();
    block->next = blocks;
    blocks = block;
    return block + 1;
}

void *mg_resize(void *memory, size_t size) {
    if (!memory) return mg_alloc(size);
    mg_block *block = (mg_block *)memory - 1;
    mg_block **place = &blocks;
    while (*place != block) place = &(*place)->next;
    mg_block *larger = size < SIZE_MAX - sizeof *block ? realloc(block, sizeof *block + size) : NULL;
    if (!larger) out_of_memory();
    *place = larger;
    return larger + 1;
}

// Memory is freed at the next call.
static void keep(void *memory) {
    (void)memory;
}

void mg_begin(void) {
    while (blocks) {
        mg_block *next = blocks->next;
        free(blocks);
        blocks = next;
    }
    mg_reset();
}

void mg_reset(void) {
    last_error = NULL;
    questions = NULL;
    once_results = NULL;
    cJSON_InitHooks(&(cJSON_Hooks){mg_alloc, keep});
}

char *mg_copy(const void *data, size_t size) {
    char *copy = mg_alloc(size + 1);
    if (size) memcpy(copy, data, size);
    copy[size] = '\0';
    return copy;
}

static char *format_list(const char *format, va_list arguments) {
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, again);
    va_end(again);
    if (length < 0) return mg_copy("", 0);
    char *text = mg_alloc((size_t)length + 1);
    vsnprintf(text, (size_t)length + 1, format, arguments);
    return text;
}

// The text of a format and the arguments after it.
#define FORMATTED(text, format)              \
    char *text;                              \
    do {                                     \
        va_list arguments_;                  \
        va_start(arguments_, format);        \
        text = format_list(format, arguments_); \
        va_end(arguments_);                  \
    } while (0)

char *mg_format(const char *format, ...) {
    FORMATTED(text, format);
    return text;
}

void *mg_set_error(const char *format, ...) {
    FORMATTED(text, format);
    last_error = text;
    return NULL;
}

const char *mg_error(void) {
    return last_error;
}

mg_bytes mg_read_file(const char *path) {
    mg_bytes content = {0};
    FILE *file = fopen(path, "rb");
    if (!file) return content;
    // With its size from the start, a large file isn't copied.
    struct stat info;
    bool is_sized = stat(path, &info) == 0 && info.st_size > 0 && (uintmax_t)info.st_size < SIZE_MAX / 2;
    size_t capacity = is_sized ? (size_t)info.st_size + 2 : 4096;
    char *data = mg_alloc(capacity);
    for (size_t count; (count = fread(data + content.size, 1, capacity - 1 - content.size, file)) > 0;) {
        content.size += count;
        if (content.size == capacity - 1) {
            if (capacity > SIZE_MAX / 2) abort();
            capacity *= 2;
            data = mg_resize(data, capacity);
        }
    }
    if (!ferror(file)) {
        data[content.size] = '\0';
        content.data = data;
    }
    int reason = errno;
    fclose(file);
    errno = reason;
    return content;
}

// === arguments ===

const char *mg_string(const cJSON *object, const char *name) {
    return cJSON_GetStringValue(cJSON_GetObjectItemCaseSensitive(object, name));
}

double mg_number(const cJSON *object, const char *name, double fallback) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsNumber(item) ? item->valuedouble : fallback;
}

int64_t mg_integer(const cJSON *object, const char *name, int64_t fallback) {
    double number = mg_number(object, name, NAN);
    // Converting a number outside of the range is undefined.
    return number >= -0x1p63 && number < 0x1p63 ? (int64_t)number : fallback;
}

bool mg_boolean(const cJSON *object, const char *name, bool fallback) {
    const cJSON *item = cJSON_GetObjectItemCaseSensitive(object, name);
    return cJSON_IsBool(item) ? cJSON_IsTrue(item) : fallback;
}

// === results ===

static mg_result *new_result(void) {
    mg_result *result = mg_alloc(sizeof *result);
    *result = (mg_result){.content = cJSON_CreateArray()};
    return result;
}

static mg_result *add_block(mg_result *result, const char *type, cJSON *block) {
    cJSON_AddStringToObject(block, "type", type);
    cJSON_AddItemToArray(result->content, block);
    return result;
}

static mg_result *add_text(mg_result *result, const char *text) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "text", text);
    return add_block(result, "text", block);
}

mg_result *mg_text(const char *format, ...) {
    FORMATTED(text, format);
    return add_text(new_result(), text);
}

mg_result *mg_structured(cJSON *value) {
    if (!value) return mg_stop();
    mg_result *result = new_result();
    result->structured = value;
    return add_text(result, cJSON_PrintUnformatted(value));
}

mg_result *mg_data(const void *data, size_t size) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "blob", mg_base64(data, size));
    return add_block(new_result(), "blob", block);
}

static mg_result *failed(const char *message) {
    mg_result *result = add_text(new_result(), message);
    result->failed = true;
    result->message = message;
    return result;
}

mg_result *mg_fail(const char *format, ...) {
    FORMATTED(text, format);
    return failed(text);
}

mg_result *mg_file_error(const char *path) {
    return failed(mg_format("`%s`: %s", path, strerror(errno)));
}

mg_result *mg_protocol_error(mg_error_kind kind, const char *format, ...) {
    FORMATTED(text, format);
    mg_result *result = new_result();
    result->error = kind;
    result->message = text;
    return result;
}

mg_result *mg_stop(void) {
    if (last_error || !questions) {
        return failed(last_error ? last_error : "`mg_stop` was called without an error");
    }
    mg_result *result = new_result();
    result->questions = questions;
    if (!once_results) {
        result->round_state = mg_host_round_state();
    } else if (once_results->child) {
        result->round_state = cJSON_PrintUnformatted(once_results);
    }
    return result;
}

mg_result *mg_add_text(mg_result *result, const char *format, ...) {
    FORMATTED(text, format);
    return add_text(result, text);
}

static mg_result *add_media(mg_result *result, const char *type, const void *data, size_t size, const char *mime_type) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "data", mg_base64(data, size));
    cJSON_AddStringToObject(block, "mimeType", mime_type);
    return add_block(result, type, block);
}

mg_result *mg_add_image(mg_result *result, const void *data, size_t size, const char *mime_type) {
    return add_media(result, "image", data, size, mime_type);
}

mg_result *mg_add_audio(mg_result *result, const void *data, size_t size, const char *mime_type) {
    return add_media(result, "audio", data, size, mime_type);
}

mg_result *mg_add_link(mg_result *result, const char *uri, const char *name, const char *mime_type) {
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "uri", uri);
    cJSON_AddStringToObject(block, "name", name);
    if (mime_type) cJSON_AddStringToObject(block, "mimeType", mime_type);
    return add_block(result, "resource_link", block);
}

mg_result *mg_add_reply(mg_result *result, const char *format, ...) {
    FORMATTED(text, format);
    cJSON *block = cJSON_CreateObject();
    cJSON_AddStringToObject(block, "text", text);
    cJSON_AddStringToObject(block, "role", "assistant");
    return add_block(result, "text", block);
}

// === settings and log ===

const char *mg_setting(const char *key) {
    const char *value = NULL;
    return mg_host_setting(key, &value) ? value : NULL;
}

const char *mg_required_setting(const char *key) {
    const char *value = NULL;
    if (!mg_host_setting(key, &value)) return NULL;
    return value ? value : mg_set_error("missing `%s` in `[plugins.<name>.config]` of `gateway.toml`", key);
}

void mg_log(mg_log_level level, const char *format, ...) {
    FORMATTED(text, format);
    mg_log_json(level, cJSON_CreateString(text));
}

void mg_log_json(mg_log_level level, const cJSON *data) {
    const char *json = cJSON_PrintUnformatted(data);
    mg_host_log(level, json ? json : "null");
}

// === questions ===

const cJSON *mg_ask_client(const char *key, const char *method, const cJSON *params) {
    const char *text = mg_host_answer(key);
    if (text) {
        cJSON *answer = cJSON_Parse(text);
        return answer ? answer : mg_set_error("the client's answer isn't valid JSON");
    }
    last_error = NULL; // of a function whose failure didn't end the call
    if (!questions) questions = cJSON_CreateArray();
    cJSON *question = cJSON_CreateObject();
    cJSON_AddStringToObject(question, "key", key);
    cJSON_AddStringToObject(question, "method", method);
    if (params) cJSON_AddItemToObject(question, "params", cJSON_Duplicate(params, true));
    cJSON_AddItemToArray(questions, question);
    return NULL;
}

const cJSON *mg_ask(const char *key, const char *message, const mg_field *fields) {
    cJSON *params = cJSON_CreateObject();
    cJSON_AddStringToObject(params, "mode", "form");
    cJSON_AddStringToObject(params, "message", message);
    cJSON_AddItemToObject(params, "requestedSchema", mg_fields_schema(fields, true));
    const cJSON *answer = mg_ask_client(key, "elicitation/create", params);
    if (!answer) return NULL;
    const char *action = mg_string(answer, "action");
    if (action && strcmp(action, "accept") == 0) {
        const cJSON *content = cJSON_GetObjectItemCaseSensitive(answer, "content");
        return cJSON_IsObject(content) ? content : cJSON_CreateObject();
    }
    const char *what = action && strcmp(action, "decline") == 0 ? "declined" : "dismissed";
    return mg_set_error("the user %s the question \"%s\"", what, message);
}

const cJSON *mg_once(const char *key, cJSON *(*work)(void *context), void *context) {
    if (!once_results) {
        const char *before = mg_host_round_state();
        once_results = before ? cJSON_Parse(before) : NULL;
        if (!cJSON_IsObject(once_results)) once_results = cJSON_CreateObject();
    }
    mg_host_begin_once(key);
    cJSON *result = cJSON_GetObjectItemCaseSensitive(once_results, key);
    if (!result) {
        result = cJSON_Duplicate(work(context), true); // it can be a part of another value
        if (result) cJSON_AddItemToObject(once_results, key, result);
    }
    mg_host_end_once();
    return result;
}
