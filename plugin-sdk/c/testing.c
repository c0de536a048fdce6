// The gateway's side in tests: `moongate_testing.h`.

#ifndef __wasm__

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "internal.h"
#include "moongate_testing.h"

// === fakes ===

// A value of a fake, with a key.
typedef struct entry {
    enum { SETTING, STATE, PAGE, ANSWER, LOG, PROGRESS, QUESTION, CHANGE } kind;
    int status;
    char *key;
    char *value;
    size_t size;
    struct entry *next;
} entry;

static entry *entries;
static const char *test_name;
static bool has_failed;
static int passed_count;
static int failed_count;

// === the current round ===

// The state of the previous round.
static const char *round_state;
// The first write outside `mg_once`. Every round repeats it.
static const char *repeated_write;
// The first misuse of `mg_once`.
static const char *once_problem;
// The keys of `mg_once`, an object.
static cJSON *once_keys;
static int once_depth;

static char *copy(const char *text, size_t size) {
    char *copied = malloc(size + 1);
    if (!copied) abort();
    memcpy(copied, text, size);
    copied[size] = '\0';
    return copied;
}

static void delete(entry **place) {
    entry *old = *place;
    *place = old->next;
    free(old->key);
    free(old->value);
    free(old);
}

static entry **find(int kind, const char *key) {
    entry **place = &entries;
    while (*place && ((int)(*place)->kind != kind || strcmp((*place)->key, key) != 0)) place = &(*place)->next;
    return place;
}

static entry *add(int kind, const char *key, const char *value, size_t size) {
    entry **place = &entries;
    while (*place) place = &(*place)->next;
    *place = malloc(sizeof **place);
    if (!*place) abort();
    **place = (entry){.kind = kind, .key = copy(key, strlen(key)), .value = copy(value, size), .size = size};
    return *place;
}

static entry *replace(int kind, const char *key, const char *value, size_t size) {
    entry **place = find(kind, key);
    if (*place) delete(place);
    return add(kind, key, value, size);
}

static const char *value_of(int kind, const char *key) {
    entry *found = *find(kind, key);
    return found ? found->value : NULL;
}

// The fake can change while a test uses its value.
static const char *copied(const char *value) {
    return value ? mg_copy(value, strlen(value)) : NULL;
}

static void delete_from(int kind) {
    for (entry **place = &entries; *place;) {
        if ((int)(*place)->kind >= kind) {
            delete(place);
        } else {
            place = &(*place)->next;
        }
    }
}

static const char *at(int kind, size_t index) {
    for (entry *one = entries; one; one = one->next) {
        if ((int)one->kind == kind && index-- == 0) return copied(one->value);
    }
    return NULL;
}

void mg_test_setting(const char *key, const char *value) {
    replace(SETTING, key, value, strlen(value));
}

void mg_test_set_state(const char *key, const char *json) {
    replace(STATE, key, json, strlen(json));
}

const char *mg_test_state(const char *key) {
    return copied(value_of(STATE, key));
}

void mg_test_page(const char *url, int status, const char *body) {
    replace(PAGE, url, body, strlen(body))->status = status;
}

void mg_test_answer(const char *key, const char *answer) {
    replace(ANSWER, key, answer, strlen(answer));
}

const char *mg_test_log(size_t index) {
    return at(LOG, index);
}

const char *mg_test_progress(size_t index) {
    return at(PROGRESS, index);
}

const char *mg_test_question(size_t index) {
    return at(QUESTION, index);
}

const char *mg_test_change(size_t index) {
    return at(CHANGE, index);
}

// === running tests ===

void mg_run_test(const char *name, void (*test)(void)) {
    delete_from(SETTING);
    mg_begin();
    // A test can call functions of the plugin without a call.
    round_state = repeated_write = once_problem = NULL;
    once_keys = NULL;
    once_depth = 0;
    test_name = name;
    has_failed = false;
    test();
    printf("%s - %s\n", has_failed ? "not ok" : "ok", name);
    if (has_failed) {
        failed_count++;
    } else {
        passed_count++;
    }
}

int mg_test_result(void) {
    printf("# pass %d\n# fail %d\n", passed_count, failed_count);
    return failed_count || !passed_count;
}

bool mg_expected(bool condition, const char *file, int line, const char *text) {
    if (!condition) {
        has_failed = true;
        printf("%s:%d: %s: expected %s\n", file, line, test_name, text);
    }
    return condition;
}

bool mg_expected_string(const char *actual, const char *expected, const char *file, int line) {
    bool is_same = actual && expected ? strcmp(actual, expected) == 0 : actual == expected;
    if (!is_same) {
        has_failed = true;
        printf("%s:%d: %s:\n  expected: %s\n  actual:   %s\n", file, line, test_name, expected ? expected : "NULL",
            actual ? actual : "NULL");
    }
    return is_same;
}

// === calls ===

// True if the value is of this type, as in JSON Schema.
static bool is_type(const cJSON *value, mg_type type) {
    switch (type) {
        case MG_STRING: return cJSON_IsString(value);
        case MG_INTEGER: return cJSON_IsNumber(value) && value->valuedouble == floor(value->valuedouble);
        case MG_NUMBER: return cJSON_IsNumber(value);
        case MG_BOOLEAN: return cJSON_IsBool(value);
        case MG_ARRAY: return cJSON_IsArray(value);
        case MG_OBJECT: return cJSON_IsObject(value);
    }
    return false;
}

// The fault of an object: a missing or unknown member, or a wrong type. `NULL` if it has none.
static const char *mismatch(const mg_field *fields, const cJSON *object) {
    if (!cJSON_IsObject(object)) return "expected a JSON object";
    for (const mg_field *field = fields; field->name; field++) {
        const cJSON *value = cJSON_GetObjectItemCaseSensitive(object, field->name);
        if (field->optional && (!value || cJSON_IsNull(value))) continue;
        if (!value) return mg_format("`%s` is missing", field->name);
        if (!is_type(value, field->type)) return mg_format("`%s` has the wrong type", field->name);
    }
    const cJSON *member;
    cJSON_ArrayForEach(member, object) {
        const mg_field *field = fields;
        while (field->name && strcmp(field->name, member->string) != 0) field++;
        if (!field->name) return mg_format("unknown member `%s`", member->string);
    }
    return NULL;
}

// The reason that the gateway would refuse the arguments or the structured result of a tool. `NULL` if it accepts them.
static const char *refusal(const char *name, const char *arguments, const mg_result *result) {
    const mg_tool *tool = plugin.tools;
    while (tool && tool->name && strcmp(tool->name, name) != 0) tool++;
    if (!tool || !tool->name) return NULL;
    if (!result) return tool->arguments ? mismatch(tool->arguments, cJSON_Parse(arguments)) : NULL;
    if (!tool->output || result->failed || result->error || result->questions) return NULL;
    return result->structured ? mismatch(tool->output, result->structured) : "the structured result is missing";
}

// The text of all blocks.
static const char *text_of(const cJSON *content) {
    const char *all = "";
    const cJSON *block;
    cJSON_ArrayForEach(block, content) {
        const char *text = mg_string(block, "text");
        mg_bytes data;
        if (!text && mg_string(block, "blob") && mg_from_base64(mg_string(block, "blob"), &data)) text = data.data;
        if (text) all = *all ? mg_format("%s\n%s", all, text) : text;
    }
    return all;
}

// The result of one round.
static mg_answer answer_of(const mg_result *result) {
    if (result->error) return (mg_answer){.failed = true, .text = result->message};
    return (mg_answer){
        .failed = result->failed,
        .text = text_of(result->content),
        .structured = result->structured ? cJSON_PrintUnformatted(result->structured) : NULL,
        .content = result->content,
    };
}

// Records the questions of a round. Returns the key of the first one without an answer.
static const char *unanswered(const mg_result *result) {
    const char *missing = NULL;
    const cJSON *question;
    cJSON_ArrayForEach(question, result->questions) {
        const char *text = cJSON_PrintUnformatted(question);
        add(QUESTION, mg_string(question, "key"), text, strlen(text));
        if (!missing && !value_of(ANSWER, mg_string(question, "key"))) missing = mg_string(question, "key");
    }
    return missing;
}

// The reason that this round would misbehave in a gateway. `NULL` if it wouldn't.
static const char *misuse(const mg_result *result) {
    if (once_problem || !result->questions || !repeated_write) return once_problem;
    return mg_format("the call did %s before it asked `%s`, and would do it again when it restarts with the answer; "
                     "move it after the question or into `mg_once`",
        repeated_write, mg_string(result->questions->child, "key"));
}

static void record_write(const char *what, const char *where) {
    if (!repeated_write && !once_depth) repeated_write = mg_format("%s `%s`", what, where);
}

// A call with as many rounds as it needs. `kind` is a tool, a resource or a prompt.
static mg_answer call(char kind, const char *name, const char *arguments) {
    delete_from(LOG);
    round_state = NULL;
    for (;;) {
        mg_reset(); // a test can use its earlier answers
        repeated_write = once_problem = NULL;
        once_keys = cJSON_CreateObject();
        const char *refused = kind == 't' ? refusal(name, arguments, NULL) : NULL;
        if (refused) return (mg_answer){.failed = true, .text = refused};
        const mg_resource *resource;
        mg_result *result = kind == 't' ? mg_call_tool(name, arguments)
            : kind == 'r'               ? mg_read_resource(name, &resource)
                                        : mg_get_prompt(name, cJSON_Parse(arguments));
        refused = kind == 't' ? refusal(name, arguments, result) : NULL;
        if (!refused) refused = misuse(result);
        if (refused) return (mg_answer){.failed = true, .text = refused};
        if (!result->questions) return answer_of(result);
        round_state = result->round_state;
        const char *missing = unanswered(result);
        if (missing) {
            return (mg_answer){.failed = true, .text = mg_format("the question `%s` has no answer", missing)};
        }
    }
}

mg_answer mg_call(const char *tool, const char *arguments) {
    return call('t', tool, arguments);
}

mg_answer mg_read(const char *uri) {
    return call('r', uri, NULL);
}

mg_answer mg_prompt_text(const char *prompt, const char *arguments) {
    return call('p', prompt, arguments);
}

mg_answer mg_complete(const char *owner, const char *argument, const char *typed, const char *others) {
    mg_reset();
    bool is_prompt = false;
    for (const mg_prompt *prompt = plugin.prompts; prompt && prompt->name; prompt++) {
        if (strcmp(prompt->name, owner) == 0) is_prompt = true;
    }
    const cJSON *values = mg_suggest(is_prompt, owner, argument, typed, cJSON_Parse(others));
    if (!values) return (mg_answer){.failed = true, .text = mg_error()};
    return (mg_answer){.text = "", .structured = cJSON_PrintUnformatted(values)};
}

// === the gateway ===

const char *mg_principal(void) {
    return NULL;
}

const char *mg_client_name(void) {
    return "tests";
}

const char *mg_revision(void) {
    return "2026-07-28";
}

cJSON *mg_meta(const char *key) {
    (void)key;
    return NULL;
}

int64_t mg_remaining_ms(void) {
    return -1;
}

bool mg_cancelled(void) {
    return false;
}

bool mg_host_setting(const char *key, const char **value) {
    *value = value_of(SETTING, key);
    return true;
}

void mg_host_log(mg_log_level level, const char *json) {
    (void)level;
    add(LOG, "", json, strlen(json));
}

void mg_progress(double current, double total, const char *message) {
    cJSON *report = cJSON_CreateObject();
    cJSON_AddNumberToObject(report, "current", current);
    if (total > 0) cJSON_AddNumberToObject(report, "total", total);
    if (message) cJSON_AddStringToObject(report, "message", message);
    const char *text = cJSON_PrintUnformatted(report);
    add(PROGRESS, "", text, strlen(text));
}

void mg_resource_updated(const char *uri) {
    add(CHANGE, "", uri, strlen(uri));
}

const char *mg_host_answer(const char *key) {
    // Only a question of an earlier round has an answer.
    return *find(QUESTION, key) ? value_of(ANSWER, key) : NULL;
}

const char *mg_host_round_state(void) {
    return round_state;
}

void mg_host_begin_once(const char *key) {
    once_depth++;
    if (!once_problem && cJSON_GetObjectItemCaseSensitive(once_keys, key)) {
        once_problem = mg_format("`mg_once` is used twice with the key `%s` in one call, so the second would get the result "
                                 "of the first", key);
    }
    cJSON_AddTrueToObject(once_keys, key);
}

void mg_host_end_once(void) {
    once_depth--;
}

bool mg_state_get_bytes(const char *key, mg_bytes *value) {
    const entry *found = *find(STATE, key);
    *value = found ? (mg_bytes){mg_copy(found->value, found->size), found->size} : (mg_bytes){0};
    return true;
}

bool mg_state_set_bytes(const char *key, const void *data, size_t size) {
    record_write("a write to", key);
    replace(STATE, key, data, size);
    return true;
}

bool mg_state_delete(const char *key) {
    record_write("a write to", key);
    entry **place = find(STATE, key);
    if (*place) delete(place);
    return true;
}

cJSON *mg_state_keys(void) {
    cJSON *keys = cJSON_CreateArray();
    for (entry *one = entries; one; one = one->next) {
        if (one->kind == STATE) cJSON_AddItemToArray(keys, cJSON_CreateString(one->key));
    }
    return keys;
}

bool mg_state_increment(const char *key, int64_t delta, int64_t *sum) {
    const char *old = value_of(STATE, key);
    *sum = (old ? strtoll(old, NULL, 10) : 0) + delta;
    const char *text = mg_format("%lld", (long long)*sum);
    return mg_state_set_bytes(key, text, strlen(text));
}

struct mg_snapshot {
    const char *key;
    mg_bytes value;
};

mg_snapshot *mg_host_snapshot(const char *key) {
    mg_snapshot *snapshot = mg_alloc(sizeof *snapshot);
    snapshot->key = key;
    mg_state_get_bytes(key, &snapshot->value);
    return snapshot;
}

bool mg_host_snapshot_value(mg_snapshot *snapshot, mg_bytes *value) {
    *value = snapshot->value;
    return true;
}

mg_swap mg_host_swap(mg_snapshot **snapshot, const void *data, size_t size) {
    const char *key = (*snapshot)->key;
    const mg_bytes *old = &(*snapshot)->value;
    const entry *current = *find(STATE, key);
    bool is_same = current && old->data ? current->size == old->size && memcmp(current->value, old->data, old->size) == 0
                                        : !current && !old->data;
    if (!is_same) {
        *snapshot = mg_host_snapshot(key);
        return MG_SWAP_CHANGED;
    }
    mg_state_set_bytes(key, data, size);
    return MG_SWAPPED;
}

bool mg_host_send(const mg_outgoing *request, mg_response *response) {
    bool is_read = strcmp(request->method, "GET") == 0 || strcmp(request->method, "HEAD") == 0;
    if (!is_read) record_write(mg_format("a %s request to", request->method), request->origin);
    entry *page = *find(PAGE, request->url);
    if (!page) page = *find(PAGE, mg_format("%s%s", request->origin, request->path)); // as it is sent
    response->status = page ? page->status : 404;
    char *body = mg_copy(page ? page->value : "", page ? page->size : 0);
    bool is_redirect = response->status >= 300 && response->status < 400;
    response->headers = mg_alloc(3 * sizeof *response->headers);
    response->headers[0] = is_redirect ? "location" : NULL;
    response->headers[1] = body;
    response->headers[2] = NULL;
    bool has_body = page && !is_redirect && strcmp(request->method, "HEAD") != 0;
    response->body = has_body ? (mg_bytes){body, page->size} : (mg_bytes){mg_copy("", 0), 0};
    return true;
}

#else

// A translation unit isn't empty in ISO C.
typedef int mg_no_testing;

#endif
