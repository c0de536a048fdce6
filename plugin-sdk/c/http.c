// Requests: URLs, redirects, and encodings.

#include <ctype.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "internal.h"

#define MAX_REDIRECTS 10
#define MAX_BODY ((size_t)16 * 1024 * 1024)

// The largest number of headers in a request.
#define MAX_HEADERS 64

static const char UNRESERVED[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~";

// Encodes all bytes except unreserved ones and these.
static char *encode(const char *text, size_t size, const char *allowed) {
    char *encoded = mg_alloc(size * 3 + 1);
    char *to = encoded;
    for (size_t i = 0; i < size; i++) {
        if (text[i] && (strchr(UNRESERVED, text[i]) || strchr(allowed, text[i]))) {
            *to++ = text[i];
        } else {
            to += sprintf(to, "%%%02X", (unsigned char)text[i]);
        }
    }
    *to = '\0';
    return encoded;
}

char *mg_encode(const char *text) {
    return encode(text, strlen(text), "");
}

// Reads a URL. Everything but the method, headers and body is set.
static bool parse(const char *url, mg_outgoing *outgoing) {
    size_t scheme = 0;
    if (strncasecmp(url, "https://", 8) == 0) scheme = 8;
    if (strncasecmp(url, "http://", 7) == 0) scheme = 7;
    const char *host = url + scheme;
    size_t length = strcspn(host, "/?#");
    for (size_t i = 0; i < length; i++) {
        if (host[i] == '@') {
            host += i + 1;
            length -= i + 1;
            i = (size_t)-1;
        }
    }
    if (!scheme || !length || *host == ':') {
        mg_set_error("invalid URL `%s`: expected `http://` or `https://` and a host", url);
        return false;
    }
    const char *path = host + length;
    const char *slash = *path == '/' ? "" : "/";
    outgoing->url = url;
    outgoing->is_https = scheme == 8;
    outgoing->authority = mg_copy(host, length);
    outgoing->origin = mg_format("%s://%s", scheme == 8 ? "https" : "http", outgoing->authority);
    outgoing->path = mg_format("%s%s", slash, encode(path, strcspn(path, "#"), "/?%:@!$&'()*+,;=[]"));
    return true;
}

// The URL of a redirect.
static const char *join(const mg_outgoing *from, const char *location) {
    if (strncmp(location + strcspn(location, ":/?#"), "://", 3) == 0) return location;
    if (strncmp(location, "//", 2) == 0) return mg_format("%s:%s", from->is_https ? "https" : "http", location);
    if (*location == '/') return mg_format("%s%s", from->origin, location);
    if (*location == '#' || *location == '\0') return mg_format("%s%s", from->origin, from->path);
    size_t path = strcspn(from->path, "?");
    while (*location != '?' && path > 0 && from->path[path - 1] != '/') path--;
    return mg_format("%s%.*s%s", from->origin, (int)path, from->path, location);
}

// A copy in lower case or in upper case.
static char *with_case(const char *text, int (*change)(int)) {
    char *copy = mg_copy(text, strlen(text));
    for (char *letter = copy; *letter; letter++) *letter = (char)change((unsigned char)*letter);
    return copy;
}

// Copies headers with lower-case names, except those of this list.
static bool copy_headers(const char *const *from, const char **to, const char *const *without) {
    size_t count = 0;
    for (; from && from[0]; from += 2) {
        bool is_left_out = false;
        for (const char *const *name = without; *name; name++) is_left_out |= strcasecmp(*name, from[0]) == 0;
        if (is_left_out) continue;
        if (count == MAX_HEADERS) {
            mg_set_error("a request can have %d headers", MAX_HEADERS);
            return false;
        }
        to[count * 2] = with_case(from[0], tolower);
        to[count * 2 + 1] = from[1];
        count++;
    }
    to[count * 2] = NULL;
    return true;
}

static const char *find(const char *const *headers, const char *name) {
    for (; headers && headers[0]; headers += 2) {
        if (strcasecmp(headers[0], name) == 0) return headers[1];
    }
    return NULL;
}

static bool is_redirect(int status) {
    return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

mg_response *mg_send(const mg_request *request) {
    static const char *const NONE[] = {NULL};
    static const char *const OF_BODY[] = {"content-type", "content-length", NULL};
    static const char *const SECRET[] = {"authorization", "cookie", NULL};
    mg_outgoing outgoing = {
        .body = request->body, .size = request->size, .timeout = request->timeout,
        .max_body = request->max_body ? request->max_body : MAX_BODY,
    };
    if (!parse(request->url, &outgoing)) return NULL;
    // Three more for the content type.
    const char **headers = mg_alloc(sizeof *headers * (MAX_HEADERS * 2 + 3));
    if (!copy_headers(request->headers, headers, NONE)) return NULL;
    if (request->json) {
        outgoing.body = cJSON_PrintUnformatted(request->json);
        outgoing.size = 0;
        if (!find(headers, "content-type")) {
            const char **end = headers;
            while (*end) end += 2;
            end[0] = "content-type";
            end[1] = "application/json";
            end[2] = NULL;
        }
    }
    if (outgoing.body && !outgoing.size) outgoing.size = strlen(outgoing.body);
    const char *method = request->method ? request->method : outgoing.body ? "POST" : "GET";
    outgoing.method = with_case(method, toupper);
    for (int redirects = 0; redirects <= MAX_REDIRECTS; redirects++) {
        outgoing.headers = headers;
        mg_response *response = mg_alloc(sizeof *response);
        *response = (mg_response){.url = outgoing.url};
        if (!mg_host_send(&outgoing, response)) return NULL;
        const char *location = is_redirect(response->status) ? mg_header(response, "location") : NULL;
        if (!location) return response;
        const char *origin = outgoing.origin;
        if (!parse(join(&outgoing, location), &outgoing)) return NULL;
        if (strcmp(origin, outgoing.origin) != 0 && !copy_headers(headers, headers, SECRET)) return NULL;
        bool becomes_get = response->status == 303 ? strcmp(outgoing.method, "HEAD") != 0
            : response->status < 303               ? strcmp(outgoing.method, "POST") == 0
                                                   : false;
        if (becomes_get) {
            outgoing.method = "GET";
            outgoing.body = NULL;
            outgoing.size = 0;
            if (!copy_headers(headers, headers, OF_BODY)) return NULL;
        }
    }
    return mg_set_error("more than %d redirects", MAX_REDIRECTS);
}

mg_response *mg_get(const char *url) {
    mg_response *response = mg_send(&(mg_request){.url = url});
    return response && mg_is_success(response) ? response : NULL;
}

cJSON *mg_get_json(const char *url) {
    mg_response *response = mg_get(url);
    if (!response) return NULL;
    cJSON *json = cJSON_ParseWithLength(response->body.data, response->body.size);
    mg_outgoing place;
    // A query can contain secrets.
    if (json || !parse(response->url, &place)) return json;
    return mg_set_error("invalid response from `%s`: not JSON", place.origin);
}

const char *mg_header(const mg_response *response, const char *name) {
    return find(response->headers, name);
}

bool mg_is_success(const mg_response *response) {
    if (response->status < 400) return true;
    mg_outgoing place;
    if (parse(response->url, &place)) mg_set_error("`%s` returned status %d", place.origin, response->status);
    return false;
}

// === base64 ===

static const char BASE64[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

char *mg_base64(const void *data, size_t size) {
    const unsigned char *bytes = data;
    char *text = mg_alloc((size + 2) / 3 * 4 + 1);
    char *to = text;
    for (size_t i = 0; i < size; i += 3) {
        size_t count = size - i < 3 ? size - i : 3;
        unsigned group = (unsigned)bytes[i] << 16;
        if (count > 1) group |= (unsigned)bytes[i + 1] << 8;
        if (count > 2) group |= bytes[i + 2];
        for (size_t digit = 0; digit < 4; digit++) {
            *to++ = digit <= count ? BASE64[group >> (18 - 6 * digit) & 63] : '=';
        }
    }
    *to = '\0';
    return text;
}

bool mg_from_base64(const char *text, mg_bytes *data) {
    *data = (mg_bytes){.data = mg_alloc(strlen(text) + 1)};
    unsigned group = 0;
    int bits = 0;
    for (; *text && *text != '='; text++) {
        const char *digit = strchr(BASE64, *text);
        if (!digit) return false;
        group = group << 6 | (unsigned)(digit - BASE64);
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            data->data[data->size++] = (char)(group >> bits & 255);
        }
    }
    data->data[data->size] = '\0';
    return true;
}
