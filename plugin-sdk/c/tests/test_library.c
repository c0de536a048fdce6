// Tests of the library: what the guide doesn't show.

#include <errno.h>
#include <string.h>

#include "internal.h"
#include "moongate_testing.h"

static mg_result *echo(const cJSON *arguments) {
    return mg_structured(cJSON_Duplicate(arguments, true));
}

static mg_result *fetch(const cJSON *arguments) {
    mg_response *response = mg_send(&(mg_request){
        .url = mg_string(arguments, "url"), .method = mg_string(arguments, "method"),
    });
    return response && mg_is_success(response) ? mg_text("%s", response->body.data) : mg_stop();
}

static mg_result *fetch_json(const cJSON *arguments) {
    return mg_structured(mg_get_json(mg_string(arguments, "url")));
}

static mg_result *nothing(const cJSON *arguments) {
    (void)arguments;
    return NULL;
}

static mg_result *both(const cJSON *arguments) {
    (void)arguments;
    static const mg_field name[] = {{.name = "name", .type = MG_STRING}, {0}};
    const cJSON *first = mg_ask("first", "First?", name);
    const cJSON *second = mg_ask("second", "Second?", name);
    if (!first || !second) return mg_stop();
    return mg_text("%s %s", mg_string(first, "name"), mg_string(second, "name"));
}

static cJSON *twice(cJSON *old, void *context) {
    int *attempts = context;
    if (++*attempts < 3) mg_state_set("counted", cJSON_CreateNumber(old->valuedouble + 1));
    return cJSON_CreateNumber(old->valuedouble * 2);
}

static mg_result *contend(const cJSON *arguments) {
    (void)arguments;
    int attempts = 0;
    cJSON *value = mg_state_update("counted", cJSON_CreateNumber(1), twice, &attempts);
    return value ? mg_text("%d %d", attempts, value->valueint) : mg_stop();
}

static cJSON *count_orders(void *context) {
    int64_t number;
    (void)context;
    return mg_state_increment("orders", 1, &number) ? cJSON_CreateNumber((double)number) : NULL;
}

static cJSON *fail_to_count(void *context) {
    (void)context;
    return mg_set_error("out of stock");
}

static const mg_field is_sure[] = {{.name = "sure", .type = MG_BOOLEAN}, {0}};

// Asks in two rounds.
static mg_result *order(const cJSON *arguments) {
    (void)arguments;
    const cJSON *number = mg_once("number", count_orders, NULL);
    if (!number || !mg_ask("first", "First?", is_sure)) return mg_stop();
    if (!mg_ask("second", "Second?", is_sure)) return mg_stop();
    return mg_text("order %d", number->valueint);
}

static mg_result *order_nothing(const cJSON *arguments) {
    (void)arguments;
    const cJSON *number = mg_once("number", fail_to_count, NULL);
    return number ? mg_text("order %d", number->valueint) : mg_stop();
}

static mg_result *order_twice(const cJSON *arguments) {
    (void)arguments;
    mg_once("number", count_orders, NULL);
    mg_once("number", count_orders, NULL);
    return mg_text("ordered");
}

static mg_result *write_too_early(const cJSON *arguments) {
    const char *url = mg_string(arguments, "url");
    if (url) {
        mg_send(&(mg_request){.url = url, .body = "tea"});
    } else {
        mg_state_set("order", cJSON_CreateTrue());
    }
    return mg_ask("sure", "Sure?", is_sure) ? mg_text("sure") : mg_stop();
}

static cJSON *suggest(const char *typed, const cJSON *others) {
    if (strcmp(typed, "none") == 0) return NULL;
    if (strcmp(typed, "fail") == 0) return mg_set_error("can't suggest");
    cJSON *values = cJSON_CreateArray();
    cJSON_AddItemToArray(values, cJSON_CreateString(mg_format("%s %s", typed, cJSON_PrintUnformatted(others))));
    return values;
}

static mg_result *greet(const cJSON *arguments) {
    return mg_text("Greet %s.", mg_string(arguments, "name"));
}

static mg_result *read_any(const char *uri, const cJSON *variables) {
    return mg_text("%s %s", uri, cJSON_PrintUnformatted(variables));
}

static mg_result *read_data(const char *uri, const cJSON *variables) {
    (void)uri;
    (void)variables;
    return mg_data("a\0b", 3);
}

static mg_result *read_image(const char *uri, const cJSON *variables) {
    (void)uri;
    (void)variables;
    return mg_add_image(mg_text("An image"), "PNG", 3, "image/png");
}

static const mg_field echo_arguments[] = {
    {.name = "text", .type = MG_STRING, .description = "A \"text\"."},
    {.name = "count", .type = MG_INTEGER, .optional = true, .schema = MG_JSON({"minimum": 0, "type": "integer"})},
    {.name = "ratio", .type = MG_NUMBER, .optional = true},
    {0},
};
static const mg_field url_arguments[] = {
    {.name = "url", .type = MG_STRING},
    {.name = "method", .type = MG_STRING, .optional = true},
    {0},
};

static const mg_tool tools[] = {
    {.name = "echo", .arguments = echo_arguments, .output = echo_arguments, .call = echo},
    {.name = "fetch", .arguments = url_arguments, .call = fetch},
    {.name = "nothing", .call = nothing},
    {.name = "both", .call = both},
    {.name = "contend", .call = contend},
    {.name = "fetch_json", .arguments = url_arguments, .call = fetch_json},
    {.name = "order", .call = order},
    {.name = "order_nothing", .call = order_nothing},
    {.name = "order_twice", .call = order_twice},
    {.name = "write_too_early", .call = write_too_early},
    {0},
};

static const mg_resource resources[] = {
    {.uri = "x://files/{+path}", .read = read_any},
    {.uri = "x://days/{year}/{day}?of={name}", .read = read_any},
    {.uri = "x://files/data", .read = read_data},
    {.uri = "x://files/image", .read = read_image},
    {0},
};

static const mg_field greet_arguments[] = {{.name = "name", .type = MG_STRING}, {0}};

static const mg_prompt prompts[] = {{.name = "greet", .arguments = greet_arguments, .get = greet}, {0}};

static const mg_completion completions[] = {
    {.prompt = "greet", .argument = "name", .suggest = suggest},
    {.resource = "x://files/{+path}", .argument = "path", .suggest = suggest},
    {0},
};

const mg_plugin plugin = {
    .name = "tested", .version = "0.1.0", .tools = tools, .resources = resources, .prompts = prompts,
    .completions = completions,
};

static void schemas_describe_fields(void) {
    mg_expect_string(mg_input_schema(&tools[0]), MG_JSON({"type":"object","properties":{)
        MG_JSON("text":{"type":"string","description":"A \"text\"."},"count":{"type":"integer","minimum":0},)
        MG_JSON("ratio":{"type":["number","null"]}},"required":["text"],"additionalProperties":false}));
    mg_expect_string(mg_input_schema(&tools[2]), MG_JSON({"type":"object","properties":{},"additionalProperties":false}));
    mg_expect(mg_output_schema(&tools[1]) == NULL);
}

static void wrong_arguments_and_results_are_refused(void) {
    mg_expect_string(mg_call("echo", "{}").text, "`text` is missing");
    mg_expect_string(mg_call("echo", MG_JSON({"text": 1})).text, "`text` has the wrong type");
    mg_expect_string(mg_call("echo", MG_JSON({"text": "", "count": 1.5})).text, "`count` has the wrong type");
    mg_expect_string(mg_call("echo", MG_JSON({"text": "", "x": 1})).text, "unknown member `x`");
    mg_expect_string(mg_call("echo", "[]").text, "expected a JSON object");
    mg_expect(!mg_call("echo", MG_JSON({"text": "", "count": null})).failed);
    mg_expect_string(mg_call("other", "{}").text, "there is no tool `other`");
    mg_expect_string(mg_call("nothing", "{}").text, "the function of `nothing` returned no result");
}

static void answers_are_valid_until_the_test_ends(void) {
    mg_answer first = mg_call("echo", mg_format("{\"text\":\"%s\"}", "a"));
    mg_answer second = mg_call("echo", first.structured);
    mg_expect_string(first.text, second.text);
    mg_expect_string(second.structured, MG_JSON({"text":"a"}));
}

static void urls_and_statuses_are_read(void) {
    mg_test_page("https://a.example/x?q=%C3%A9", 200, "found");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://a.example/x?q=\u00e9#top"})).text, "found");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://me:pass@a.example/y"})).text,
        "`https://a.example` returned status 404");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "ftp://a.example"})).text,
        "invalid URL `ftp://a.example`: expected `http://` or `https://` and a host");
    mg_expect(mg_call("fetch", MG_JSON({"url": "https://:80/"})).failed);
    mg_expect_string(mg_encode("a b/\xc3\xa9&"), "a%20b%2F%C3%A9%26");
}

static void redirects_are_followed(void) {
    static const char *const targets[][2] = {
        {"https://b.example/", "https://b.example/"},
        {"//b.example/", "https://b.example/"},
        {"/other", "https://a.example/other"},
        {"other?next=https://b.example/", "https://a.example/days/other?next=https://b.example/"},
        {"?day=2", "https://a.example/days/today?day=2"},
    };
    for (size_t i = 0; i < sizeof targets / sizeof *targets; i++) {
        mg_test_page("https://a.example/days/today?day=1", 302, targets[i][0]);
        mg_test_page(targets[i][1], 200, targets[i][0]);
        mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://a.example/days/today?day=1"})).text, targets[i][0]);
    }
    mg_test_page("https://a.example/loop?x=/y", 301, "#top");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://a.example/loop?x=/y"})).text, "more than 10 redirects");
}

static void redirects_keep_the_method_head(void) {
    mg_test_page("https://a.example/old", 303, "/new");
    mg_test_page("https://a.example/new", 200, "body");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://a.example/old", "method": "put"})).text, "body");
    mg_expect_string(mg_call("fetch", MG_JSON({"url": "https://a.example/old", "method": "head"})).text, "");
}

static void values_that_are_missing_end_the_call(void) {
    mg_expect_string(mg_call("fetch_json", MG_JSON({"url": "https://a.example"})).text,
        "`https://a.example` returned status 404");
    mg_test_page("https://a.example/?key=secret", 200, "<html>");
    mg_expect_string(mg_call("fetch_json", MG_JSON({"url": "https://a.example/?key=secret"})).text,
        "invalid response from `https://a.example`: not JSON");
    mg_log_json(MG_INFO, NULL);
    mg_expect_string(mg_test_log(0), "null");
}

static void questions_are_asked_together(void) {
    mg_test_answer("first", MG_JSON({"action": "accept", "content": {"name": "Ada"}}));
    mg_expect_string(mg_call("both", "{}").text, "the question `second` has no answer");
    mg_test_answer("second", MG_JSON({"action": "accept", "content": {"name": "Lovelace"}}));
    mg_expect_string(mg_call("both", "{}").text, "Ada Lovelace");
    mg_test_answer("second", MG_JSON({"action": "cancel"}));
    mg_expect_string(mg_call("both", "{}").text, "the user dismissed the question \"Second?\"");
}

static void work_runs_once_in_all_rounds(void) {
    mg_test_answer("first", MG_JSON({"action": "accept", "content": {"sure": true}}));
    mg_test_answer("second", MG_JSON({"action": "accept", "content": {"sure": true}}));
    mg_expect_string(mg_call("order", "{}").text, "order 1");
    mg_expect_string(mg_call("order", "{}").text, "order 2");
    mg_expect_string(mg_test_state("orders"), "2");
    mg_expect_string(mg_call("order_nothing", "{}").text, "out of stock");
    mg_expect_string(mg_call("order_twice", "{}").text,
        "`mg_once` is used twice with the key `number` in one call, so the second would get the result of the first");
}

static void writes_before_a_question_are_found(void) {
    mg_test_answer("sure", MG_JSON({"action": "accept", "content": {"sure": true}}));
    mg_expect_string(mg_call("write_too_early", "{}").text,
        "the call did a write to `order` before it asked `sure`, and would do it again when it restarts with the answer; "
        "move it after the question or into `mg_once`");
    const char *posted = mg_call("write_too_early", MG_JSON({"url": "https://a.example"})).text;
    mg_expect(strstr(posted, "the call did a POST request to `https://a.example` before it asked `sure`") == posted);
}

static void completions_belong_to_an_argument(void) {
    mg_expect_string(mg_complete("greet", "name", "A", MG_JSON({"of": "x"})).structured, "[\"A {\\\"of\\\":\\\"x\\\"}\"]");
    mg_expect_string(mg_complete("x://files/{+path}", "path", "a", "{}").structured, MG_JSON(["a {}"]));
    mg_expect_string(mg_complete("greet", "path", "a", "{}").structured, "[]");
    mg_expect_string(mg_complete("greet", "name", "none", "{}").structured, "[]");
    mg_answer failed = mg_complete("greet", "name", "fail", "{}");
    mg_expect(failed.failed);
    mg_expect_string(failed.text, "can't suggest");
}

static void updates_are_repeated_after_a_change(void) {
    mg_expect_string(mg_call("contend", "{}").text, "3 6");
    mg_expect_string(mg_test_state("counted"), "6");
}

static void the_state_keeps_all_bytes(void) {
    mg_bytes value;
    mg_expect(mg_state_set_bytes("bytes", "a\0b", 3) && mg_state_get_bytes("bytes", &value));
    mg_expect(value.size == 3 && memcmp(value.data, "a\0b", 4) == 0);
    mg_snapshot *snapshot = mg_host_snapshot("bytes");
    mg_state_set_bytes("bytes", "a\0c", 3);
    mg_expect(mg_host_swap(&snapshot, "d", 1) == MG_SWAP_CHANGED);
    mg_expect(mg_host_swap(&snapshot, "d", 1) == MG_SWAPPED);
    mg_test_set_state("bytes", mg_test_state("bytes"));
    mg_expect_string(mg_test_state("bytes"), "d");
}

static void templates_match_like_uris(void) {
    mg_expect_string(mg_read("x://files/a/b%20c").text, "x://files/a/b%20c {\"path\":\"a/b c\"}");
    mg_expect_string(mg_read("x://days/2026/5?of=Ada").text,
        "x://days/2026/5?of=Ada {\"name\":\"Ada\",\"day\":\"5\",\"year\":\"2026\"}");
    mg_expect_string(mg_read("x://days/2026/5/6?of=Ada").text, "there is no resource `x://days/2026/5/6?of=Ada`");
    mg_expect_string(mg_read("x://files/data").text, "a");
    mg_expect_string(mg_read("x://files/image").text,
        "the function of `x://files/image` returned a block that isn't text or data");
}

static void numbers_outside_of_the_range_have_the_fallback(void) {
    const cJSON *object = cJSON_Parse(MG_JSON({"huge": 1e300, "small": -9.9, "text": "1"}));
    mg_expect(mg_integer(object, "huge", 7) == 7);
    mg_expect(mg_integer(object, "small", 7) == -9);
    mg_expect(mg_integer(object, "text", 7) == 7);
    mg_expect(mg_boolean(object, "missing", true));
    mg_expect(mg_string(object, "huge") == NULL);
}

static void files_are_read_whole(void) {
    mg_bytes text = mg_read_file(__FILE__);
    mg_expect(text.size > 8192 && strlen(text.data) == text.size);
    mg_expect(strcmp(text.data + text.size - 3, "\n}\n") == 0);
    mg_bytes empty = mg_read_file("/dev/null");
    mg_expect(empty.data && empty.size == 0);
    mg_expect(mg_read_file("missing").data == NULL && errno == ENOENT);
    mg_expect(mg_read_file(".").data == NULL && errno == EISDIR);
}

static void base64_keeps_all_bytes(void) {
    for (size_t size = 0; size < 5; size++) {
        mg_bytes data;
        mg_expect(mg_from_base64(mg_base64("\0\xff\x01z", size), &data));
        mg_expect(data.size == size && memcmp(data.data, "\0\xff\x01z", size) == 0);
    }
}

int main(void) {
    mg_test(schemas_describe_fields);
    mg_test(wrong_arguments_and_results_are_refused);
    mg_test(answers_are_valid_until_the_test_ends);
    mg_test(urls_and_statuses_are_read);
    mg_test(redirects_are_followed);
    mg_test(redirects_keep_the_method_head);
    mg_test(values_that_are_missing_end_the_call);
    mg_test(questions_are_asked_together);
    mg_test(work_runs_once_in_all_rounds);
    mg_test(writes_before_a_question_are_found);
    mg_test(completions_belong_to_an_argument);
    mg_test(updates_are_repeated_after_a_change);
    mg_test(the_state_keeps_all_bytes);
    mg_test(templates_match_like_uris);
    mg_test(numbers_outside_of_the_range_have_the_fallback);
    mg_test(files_are_read_whole);
    mg_test(base64_keeps_all_bytes);
    return mg_test_result();
}
