// Finds the function of a call, and runs it.

#include <string.h>

#include "internal.h"

static mg_result *checked(mg_result *result, const char *name) {
    return result ? result : mg_protocol_error(MG_INTERNAL, "the function of `%s` returned no result", name);
}

mg_result *mg_call_tool(const char *name, const char *arguments) {
    for (const mg_tool *tool = plugin.tools; tool && tool->name; tool++) {
        if (strcmp(tool->name, name) != 0) continue;
        cJSON *parsed = cJSON_Parse(arguments);
        if (!cJSON_IsObject(parsed)) return mg_protocol_error(MG_INVALID_PARAMS, "the arguments can't be read");
        return checked(tool->call(parsed), name);
    }
    return mg_protocol_error(MG_NOT_FOUND, "there is no tool `%s`", name);
}

mg_result *mg_get_prompt(const char *name, cJSON *arguments) {
    for (const mg_prompt *prompt = plugin.prompts; prompt && prompt->name; prompt++) {
        if (strcmp(prompt->name, name) == 0) return checked(prompt->get(arguments), name);
    }
    return mg_protocol_error(MG_NOT_FOUND, "there is no prompt `%s`", name);
}

bool mg_is_template(const char *uri) {
    return strchr(uri, '{') != NULL;
}

static int hex_digit(char digit) {
    if (digit >= '0' && digit <= '9') return digit - '0';
    digit |= 0x20;
    return digit >= 'a' && digit <= 'f' ? digit - 'a' + 10 : -1;
}

// Decodes `%20` and the like, in place.
static void decode(char *text) {
    char *to = text;
    for (const char *from = text; *from; from++) {
        int high = *from == '%' ? hex_digit(from[1]) : -1;
        int low = high >= 0 ? hex_digit(from[2]) : -1;
        bool is_code = low >= 0 && (high || low);
        *to++ = is_code ? (char)(high * 16 + low) : *from;
        if (is_code) from += 2;
    }
    *to = '\0';
}

// Matches a URI with a template, and adds its variables.
static bool matches(const char *template, const char *uri, cJSON *variables) {
    const char *open = strchr(template, '{');
    const char *close = open ? strchr(open, '}') : NULL;
    if (!close) return strcmp(template, uri) == 0;
    size_t literal = (size_t)(open - template);
    if (strncmp(template, uri, literal) != 0) return false;
    uri += literal;
    bool is_any = open[1] == '+';
    const char *name = open + 1 + is_any;
    size_t longest = is_any ? strlen(uri) : strcspn(uri, "/?#");
    for (size_t length = longest; length > 0; length--) {
        if (!matches(close + 1, uri + length, variables)) continue;
        char *value = mg_copy(uri, length);
        decode(value);
        cJSON_AddStringToObject(variables, mg_copy(name, (size_t)(close - name)), value);
        return true;
    }
    return false;
}

// A resource contains only text and data.
static mg_result *readable(mg_result *result, const char *uri) {
    const cJSON *block;
    cJSON_ArrayForEach(block, result->content) {
        if (mg_string(block, "text") || mg_string(block, "blob")) continue;
        return mg_protocol_error(MG_INTERNAL, "the function of `%s` returned a block that isn't text or data", uri);
    }
    return result;
}

mg_result *mg_read_resource(const char *uri, const mg_resource **found) {
    // Resources with their own URI come first.
    for (int templates = 0; templates < 2; templates++) {
        for (const mg_resource *resource = plugin.resources; resource && resource->uri; resource++) {
            cJSON *variables = cJSON_CreateObject();
            if (mg_is_template(resource->uri) != templates || !matches(resource->uri, uri, variables)) continue;
            *found = resource;
            return readable(checked(resource->read(uri, variables), resource->uri), resource->uri);
        }
    }
    return mg_protocol_error(MG_NOT_FOUND, "there is no resource `%s`", uri);
}

cJSON *mg_suggest(bool is_prompt, const char *owner, const char *argument, const char *typed, const cJSON *others) {
    cJSON *values = NULL;
    for (const mg_completion *completion = plugin.completions; completion && completion->argument; completion++) {
        const char *candidate = is_prompt ? completion->prompt : completion->resource;
        if (!candidate || strcmp(candidate, owner) != 0 || strcmp(completion->argument, argument) != 0) continue;
        values = completion->suggest(typed, others);
        break;
    }
    return values || mg_error() ? values : cJSON_CreateArray();
}
