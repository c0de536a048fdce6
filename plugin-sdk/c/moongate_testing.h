// Tests of a plugin as a native program, without WebAssembly and without a gateway.
//
// Each test starts without settings, state, pages and answers. Results are valid until the test ends.

#ifndef MOONGATE_TESTING_H
#define MOONGATE_TESTING_H

#include "moongate.h"

// The result of a call.
typedef struct mg_answer {
    // The call failed: the result of `mg_fail`, `mg_protocol_error` or `mg_stop`.
    bool failed;
    // The text of all text blocks, joined by newlines, or the message of the error.
    const char *text;
    // The structured result as JSON, or `NULL`.
    const char *structured;
    // All blocks, as in MCP.
    const cJSON *content;
} mg_answer;

// Runs a test, a function without arguments: `mg_test(greets_by_name);`.
#define mg_test(function) mg_run_test(#function, function)
void mg_run_test(const char *name, void (*test)(void));

// Prints the number of tests, and returns the exit code for `main`.
int mg_test_result(void);

// Fails the test if the condition is false, or if the strings differ. Both strings can be `NULL`.
#define mg_expect(condition) mg_expected(condition, __FILE__, __LINE__, #condition)
#define mg_expect_string(actual, expected) mg_expected_string(actual, expected, __FILE__, __LINE__)
bool mg_expected(bool condition, const char *file, int line, const char *text);
bool mg_expected_string(const char *actual, const char *expected, const char *file, int line);

// Calls a tool. `arguments` is a JSON object. Questions are answered as set by `mg_test_answer`.
mg_answer mg_call(const char *tool, const char *arguments);

// Reads a resource. Its data is `text`.
mg_answer mg_read(const char *uri);

// Gets a prompt. `arguments` is a JSON object.
mg_answer mg_prompt_text(const char *prompt, const char *arguments);

// Suggests values for an argument of a prompt or template. `others` is a JSON object with the other arguments. The answer's
// `structured` is a JSON array of the suggestions.
mg_answer mg_complete(const char *owner, const char *argument, const char *typed, const char *others);

// Sets a setting.
void mg_test_setting(const char *key, const char *value);

// Sets the value of a key in the state, as JSON. `mg_test_state` returns it, or `NULL`.
void mg_test_set_state(const char *key, const char *json);
const char *mg_test_state(const char *key);

// Sets the response for a URL. Other URLs have the status 404. The `body` of a redirect is its location.
void mg_test_page(const char *url, int status, const char *body);

// Sets the client's answer to the question `key`: `MG_JSON({"action": "accept", "content": {"sure": true}})`.
void mg_test_answer(const char *key, const char *answer);

// The output of the last call, as JSON: the log message, the progress report `{"current": 1, "total": 2}`, the
// question, or the URI of the changed resource with this index from 0. `NULL` if there is none.
const char *mg_test_log(size_t index);
const char *mg_test_progress(size_t index);
const char *mg_test_question(size_t index);
const char *mg_test_change(size_t index);

#endif
