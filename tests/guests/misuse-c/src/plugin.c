// Mistakes of plugins in C: the same tools as in the guests `misuse`, `misuse-python` and `misuse-javascript`.

#include <assert.h>
#include <string.h>

#include "moongate.h"

static mg_result *typed(const cJSON *arguments) {
    const char *city = mg_string(arguments, "city");
    return mg_text("%d %s", (int)mg_integer(arguments, "count", 0), city ? city : "");
}

static mg_result *state(const cJSON *arguments) {
    (void)arguments;
    int64_t calls;
    if (!mg_state_increment("calls", 1, &calls)) return mg_stop();
    return mg_text("%d", (int)calls);
}

static cJSON *change(cJSON *old, void *context) {
    int *attempts = context;
    if (++*attempts == 1) mg_state_set("contended", cJSON_CreateNumber(10));
    return cJSON_CreateNumber(old->valuedouble + 1);
}

static mg_result *contend(const cJSON *arguments) {
    (void)arguments;
    int attempts = 0;
    cJSON *sum = mg_state_update("contended", cJSON_CreateNumber(0), change, &attempts);
    return sum ? mg_text("%d", sum->valueint) : mg_stop();
}

// A string of this length.
static char *repeated(int64_t size) {
    char *text = mg_alloc((size_t)size + 1);
    memset(text, 'x', (size_t)size);
    text[size] = '\0';
    return text;
}

static mg_result *store(const cJSON *arguments) {
    cJSON *value = cJSON_CreateString(repeated(mg_integer(arguments, "bytes", 0)));
    return mg_state_set("large", value) ? mg_text("stored") : mg_stop();
}

static mg_result *request(const cJSON *arguments) {
    mg_response *response = mg_send(&(mg_request){.url = mg_string(arguments, "url"), .max_body = 1000});
    return response ? mg_text("%s", response->body.data) : mg_stop();
}

static mg_result *file(const cJSON *arguments) {
    const char *path = mg_string(arguments, "path");
    mg_bytes content = mg_read_file(path);
    return content.data ? mg_text("%s", content.data) : mg_file_error(path);
}

static mg_result *ask(const cJSON *arguments) {
    (void)arguments;
    static const mg_field sure[] = {{.name = "sure", .type = MG_BOOLEAN}, {0}};
    const cJSON *answer = mg_ask("sure", "Sure?", sure);
    return answer ? mg_text("%d", mg_boolean(answer, "sure", false)) : mg_stop();
}

static mg_result *setting(const cJSON *arguments) {
    (void)arguments;
    const char *unit = mg_required_setting("unit");
    return unit ? mg_text("%s", unit) : mg_stop();
}

static mg_result *large(const cJSON *arguments) {
    return mg_text("%s", repeated(mg_integer(arguments, "bytes", 0)));
}

static mg_result *wrong(const cJSON *arguments) {
    (void)arguments;
    cJSON *size = cJSON_CreateObject();
    cJSON_AddStringToObject(size, "bytes", "many");
    return mg_structured(size);
}

static mg_result *crash(const cJSON *arguments) {
    (void)arguments;
    assert(!"a bug in the plugin");
    return NULL;
}

static const mg_field typed_arguments[] = {
    {.name = "count", .type = MG_INTEGER, .schema = MG_JSON({"minimum": 0})},
    {.name = "city", .type = MG_STRING, .optional = true},
    {0},
};
static const mg_field bytes_arguments[] = {{.name = "bytes", .type = MG_INTEGER}, {0}};
static const mg_field url_arguments[] = {{.name = "url", .type = MG_STRING}, {0}};
static const mg_field path_arguments[] = {{.name = "path", .type = MG_STRING}, {0}};

static const mg_tool tools[] = {
    {.name = "typed", .description = "Take typed arguments.", .arguments = typed_arguments, .call = typed},
    {.name = "state", .description = "Use state.", .call = state},
    {.name = "contend", .description = "Change a value while it is being updated.", .call = contend},
    {.name = "store", .description = "Store a large value.", .arguments = bytes_arguments, .call = store},
    {.name = "request", .description = "Get a page, of at most 1000 bytes.", .arguments = url_arguments, .call = request},
    {.name = "file", .description = "Read a file.", .arguments = path_arguments, .call = file},
    {.name = "ask", .description = "Ask the user.", .call = ask},
    {.name = "setting", .description = "Read a setting.", .call = setting},
    {.name = "large", .description = "Return a large text.", .arguments = bytes_arguments, .call = large},
    {.name = "wrong", .description = "Return something else than the schema allows.", .output = bytes_arguments, .call = wrong},
    {.name = "crash", .description = "Crash.", .call = crash},
    {0},
};

const mg_plugin plugin = {.name = "misuse", .version = "0.1.0", .tools = tools};
