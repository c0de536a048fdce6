// Sends a request with `wasi:http`, in a component.

#ifdef __wasm__

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "bindings/contract.h"
#include "internal.h"

// The largest part that `blocking-write-and-flush` takes.
#define MAX_WRITE 4096
#define MAX_READ (64 * 1024)

#define CODE(name) WASI_HTTP_TYPES_ERROR_CODE_##name

// The message for a code; `%s` is the origin. `NULL` for codes that mean an invalid response.
static const char *message_of(unsigned code) {
    switch (code) {
        case CODE(DNS_TIMEOUT): return "cannot resolve `%s`: DNS lookup timed out";
        case CODE(DESTINATION_NOT_FOUND): return "cannot resolve `%s`";
        case CODE(DESTINATION_UNAVAILABLE): return "cannot connect to `%s`: host unreachable";
        case CODE(DESTINATION_IP_PROHIBITED): return "`%s` has no public address; an operator can allow it";
        case CODE(DESTINATION_IP_UNROUTABLE): return "cannot connect to `%s`: no route to its address";
        case CODE(CONNECTION_REFUSED): return "cannot connect to `%s`: connection refused";
        case CODE(CONNECTION_TERMINATED): return "cannot connect to `%s`: connection closed";
        case CODE(CONNECTION_TIMEOUT):
        case CODE(CONNECTION_READ_TIMEOUT):
        case CODE(CONNECTION_WRITE_TIMEOUT):
        case CODE(HTTP_RESPONSE_TIMEOUT): return "request to `%s` timed out";
        case CODE(CONNECTION_LIMIT_REACHED):
            return "too many concurrent requests to send another one to `%s` (`limits.requests_at_once`)";
        case CODE(TLS_PROTOCOL_ERROR): return "TLS error for `%s`: unsupported TLS version, or not TLS";
        case CODE(TLS_CERTIFICATE_ERROR): return "TLS error for `%s`: certificate verification failed";
        case CODE(TLS_ALERT_RECEIVED): return "TLS error for `%s`: the server sent an alert";
        case CODE(HTTP_REQUEST_BODY_SIZE):
            return "request to `%s` exceeded `limits.sent`, the total size of a call's request bodies";
        case CODE(HTTP_RESPONSE_BODY_SIZE):
            return "request to `%s` exceeded `limits.received`, the bytes that a call can receive";
        case CODE(HTTP_RESPONSE_INCOMPLETE):
            return "invalid response from `%s`: truncated: the server closed the connection before its end";
        case CODE(LOOP_DETECTED): return "`%s` is the gateway itself";
        case CODE(CONFIGURATION_ERROR):
        case CODE(INTERNAL_ERROR): return "the gateway couldn't send the request to `%s`; see its log";
        default: return NULL;
    }
}

static contract_string_t lent(const char *text) {
    return (contract_string_t){(uint8_t *)text, strlen(text)};
}

static bool explain(wasi_http_types_error_code_t *code, const mg_outgoing *request) {
    const char *origin = request->origin;
    const char *message = message_of(code->tag);
    const contract_option_string_t *reason = &code->val.internal_error;
    if (code->tag == CODE(HTTP_REQUEST_DENIED)) {
        mg_set_error("the request %s %s isn't granted; an operator can allow it", request->method, origin);
    } else if (code->tag == CODE(DNS_ERROR)) {
        reason = &code->val.dns_error.rcode;
        const char *rcode = reason->is_some ? mg_copy(reason->val.ptr, reason->val.len) : "";
        mg_set_error("cannot resolve `%s`%s%s", origin, *rcode ? ": " : "", rcode);
    } else if (code->tag == CODE(INTERNAL_ERROR) && reason->is_some && reason->val.len) {
        mg_set_error("%s", mg_copy(reason->val.ptr, reason->val.len));
    } else if (message) {
        const char *rest = strstr(message, "%s");
        mg_set_error("%.*s%s%s", (int)(rest - message), message, origin, rest + 2);
    } else {
        mg_set_error("invalid response from `%s`", origin);
    }
    wasi_http_types_error_code_free(code);
    return false;
}

// The error of a stream. Returns true if the stream has just ended.
static bool has_ended(wasi_io_0_2_12_streams_stream_error_t *error, const mg_outgoing *request) {
    if (error->tag == WASI_IO_0_2_12_STREAMS_STREAM_ERROR_CLOSED) return true;
    wasi_http_types_error_code_t code = {.tag = CODE(CONNECTION_TERMINATED)};
    wasi_http_types_http_error_code(wasi_io_0_2_12_error_borrow_error(error->val.last_operation_failed), &code);
    wasi_io_0_2_12_streams_stream_error_free(error);
    return explain(&code, request);
}

static bool invalid_request(const mg_outgoing *request) {
    mg_set_error("invalid URL `%s`: the gateway rejected its method, host or path", request->origin);
    return false;
}

// Makes the headers, with the length of the body.
static bool make_headers(const mg_outgoing *request, wasi_http_types_own_fields_t *fields) {
    size_t count = 0;
    while (request->headers[count * 2]) count++;
    wasi_http_types_tuple2_field_name_field_value_t *pairs = mg_alloc((count + 1) * sizeof *pairs);
    bool has_length = false;
    for (size_t i = 0; i < count; i++) {
        contract_string_t value = lent(request->headers[i * 2 + 1]);
        pairs[i].f0 = lent(request->headers[i * 2]);
        pairs[i].f1.ptr = value.ptr;
        pairs[i].f1.len = value.len;
        has_length |= strcmp(request->headers[i * 2], "content-length") == 0;
    }
    if (request->body && !has_length) {
        contract_string_t length = lent(mg_format("%zu", request->size));
        pairs[count].f0 = lent("content-length");
        pairs[count].f1.ptr = length.ptr;
        pairs[count].f1.len = length.len;
        count++;
    }
    wasi_http_types_list_tuple2_field_name_field_value_t list = {pairs, count};
    wasi_http_types_header_error_t error;
    if (wasi_http_types_static_fields_from_list(&list, fields, &error)) return true;
    const char *reason = error.tag == WASI_HTTP_TYPES_HEADER_ERROR_FORBIDDEN ? "forbidden" : "invalid syntax";
    mg_set_error("cannot send the headers: %s", reason);
    return false;
}

static void set_method(const char *name, wasi_http_types_method_t *method) {
    static const char *const NAMES[] = {"GET", "HEAD", "POST", "PUT", "DELETE", "CONNECT", "OPTIONS", "TRACE", "PATCH"};
    for (uint8_t tag = 0; tag < sizeof NAMES / sizeof *NAMES; tag++) {
        if (strcmp(NAMES[tag], name) == 0) {
            method->tag = tag;
            return;
        }
    }
    method->tag = WASI_HTTP_TYPES_METHOD_OTHER;
    method->val.other = lent(name);
}

static bool upload(wasi_http_types_own_outgoing_body_t body, const mg_outgoing *request) {
    wasi_http_types_own_output_stream_t stream;
    if (!wasi_http_types_method_outgoing_body_write(wasi_http_types_borrow_outgoing_body(body), &stream)) return true;
    const uint8_t *data = request->body;
    bool is_done = true;
    for (size_t at = 0; at < request->size && is_done; at += MAX_WRITE) {
        size_t size = request->size - at < MAX_WRITE ? request->size - at : MAX_WRITE;
        contract_list_u8_t part = {(uint8_t *)data + at, size};
        wasi_io_0_2_12_streams_stream_error_t error;
        wasi_io_0_2_12_streams_borrow_output_stream_t writer = wasi_io_0_2_12_streams_borrow_output_stream(stream);
        if (wasi_io_0_2_12_streams_method_output_stream_blocking_write_and_flush(writer, &part, &error)) continue;
        is_done = false;
        if (!has_ended(&error, request)) {
            wasi_io_0_2_12_streams_output_stream_drop_own(stream);
            wasi_http_types_outgoing_body_drop_own(body);
            return false;
        }
    }
    wasi_io_0_2_12_streams_output_stream_drop_own(stream);
    // A server can answer before it has read the whole body; then the response is the result.
    wasi_http_types_error_code_t code;
    if (!is_done) {
        wasi_http_types_outgoing_body_drop_own(body);
    } else if (!wasi_http_types_static_outgoing_body_finish(body, NULL, &code)) {
        return explain(&code, request);
    }
    return true;
}

static bool wait_for(
    wasi_http_types_own_future_incoming_response_t future, const mg_outgoing *request,
    wasi_http_types_own_incoming_response_t *response
) {
    wasi_http_types_borrow_future_incoming_response_t pending = wasi_http_types_borrow_future_incoming_response(future);
    wasi_http_types_own_pollable_t ready = wasi_http_types_method_future_incoming_response_subscribe(pending);
    wasi_io_0_2_12_poll_method_pollable_block(wasi_io_0_2_12_poll_borrow_pollable(ready));
    wasi_io_0_2_12_poll_pollable_drop_own(ready);
    wasi_http_types_result_result_own_incoming_response_error_code_void_t result;
    bool is_there = wasi_http_types_method_future_incoming_response_get(pending, &result);
    wasi_http_types_future_incoming_response_drop_own(future);
    if (!is_there || result.is_err) return invalid_request(request); // never happens: the future is ready
    if (result.val.ok.is_err) return explain(&result.val.ok.val.err, request);
    *response = result.val.ok.val.ok;
    return true;
}

static void read_headers(wasi_http_types_borrow_incoming_response_t from, mg_response *response) {
    wasi_http_types_own_headers_t fields = wasi_http_types_method_incoming_response_headers(from);
    wasi_http_types_list_tuple2_field_name_field_value_t list;
    wasi_http_types_method_fields_entries(wasi_http_types_borrow_fields(fields), &list);
    response->headers = mg_alloc((list.len * 2 + 1) * sizeof *response->headers);
    for (size_t i = 0; i < list.len; i++) {
        char *name = mg_copy(list.ptr[i].f0.ptr, list.ptr[i].f0.len);
        for (char *letter = name; *letter; letter++) *letter = (char)tolower((unsigned char)*letter);
        response->headers[i * 2] = name;
        response->headers[i * 2 + 1] = mg_copy(list.ptr[i].f1.ptr, list.ptr[i].f1.len);
    }
    response->headers[list.len * 2] = NULL;
    wasi_http_types_list_tuple2_field_name_field_value_free(&list);
    wasi_http_types_fields_drop_own(fields);
}

static bool read_body(
    wasi_http_types_borrow_incoming_response_t from, const mg_outgoing *request, mg_response *response
) {
    wasi_http_types_own_incoming_body_t body;
    wasi_http_types_own_input_stream_t stream;
    if (!wasi_http_types_method_incoming_response_consume(from, &body)) return invalid_request(request);
    if (!wasi_http_types_method_incoming_body_stream(wasi_http_types_borrow_incoming_body(body), &stream)) {
        return invalid_request(request);
    }
    wasi_io_0_2_12_streams_borrow_input_stream_t reader = wasi_io_0_2_12_streams_borrow_input_stream(stream);
    // With its size from the start, a large body isn't copied.
    const char *length = mg_header(response, "content-length");
    size_t announced = length ? strtoul(length, NULL, 10) : 0;
    if (announced > request->max_body || announced > SIZE_MAX / 2) announced = 0;
    size_t capacity = 0;
    mg_bytes all = {0};
    bool is_read = true;
    for (;;) {
        contract_list_u8_t part;
        wasi_io_0_2_12_streams_stream_error_t error;
        if (!wasi_io_0_2_12_streams_method_input_stream_blocking_read(reader, MAX_READ, &part, &error)) {
            is_read = has_ended(&error, request);
            break;
        }
        if (part.len > request->max_body - all.size) {
            mg_set_error("the response from `%s` is larger than %zu bytes; to allow more, set `max_body`",
                request->origin, request->max_body);
            contract_list_u8_free(&part);
            is_read = false;
            break;
        }
        if (part.len > capacity - all.size) {
            size_t needed = all.size + part.len;
            size_t doubled = needed < SIZE_MAX / 2 ? needed * 2 : needed;
            capacity = !all.data && announced >= needed ? announced : doubled;
            all.data = mg_resize(all.data, capacity + 1);
        }
        if (part.len) memcpy(all.data + all.size, part.ptr, part.len);
        all.size += part.len;
        contract_list_u8_free(&part);
    }
    if (!all.data) all.data = mg_alloc(1);
    all.data[all.size] = '\0';
    response->body = all;
    wasi_io_0_2_12_streams_input_stream_drop_own(stream);
    wasi_http_types_incoming_body_drop_own(body);
    return is_read;
}

bool mg_host_send(const mg_outgoing *request, mg_response *response) {
    wasi_http_types_own_fields_t headers;
    if (!make_headers(request, &headers)) return false;
    wasi_http_types_own_outgoing_request_t outgoing = wasi_http_types_constructor_outgoing_request(headers);
    wasi_http_types_borrow_outgoing_request_t sent = wasi_http_types_borrow_outgoing_request(outgoing);
    wasi_http_types_method_t method = {0};
    set_method(request->method, &method);
    wasi_http_types_scheme_t scheme = {
        .tag = request->is_https ? WASI_HTTP_TYPES_SCHEME_HTTPS : WASI_HTTP_TYPES_SCHEME_HTTP,
    };
    contract_string_t authority = lent(request->authority);
    contract_string_t path = lent(request->path);
    if (!wasi_http_types_method_outgoing_request_set_method(sent, &method)
        || !wasi_http_types_method_outgoing_request_set_scheme(sent, &scheme)
        || !wasi_http_types_method_outgoing_request_set_authority(sent, &authority)
        || !wasi_http_types_method_outgoing_request_set_path_with_query(sent, &path)) {
        wasi_http_types_outgoing_request_drop_own(outgoing);
        return invalid_request(request);
    }
    wasi_http_types_own_outgoing_body_t body;
    if (request->body && !wasi_http_types_method_outgoing_request_body(sent, &body)) return invalid_request(request);
    wasi_http_types_own_request_options_t options;
    if (request->timeout > 0) {
        options = wasi_http_types_constructor_request_options();
        wasi_http_types_borrow_request_options_t set = wasi_http_types_borrow_request_options(options);
        // A longer time, such as `INFINITY`, doesn't fit.
        double seconds = request->timeout < 1e9 ? request->timeout : 1e9;
        wasi_http_types_duration_t nanoseconds = (wasi_http_types_duration_t)(seconds * 1e9);
        wasi_http_types_method_request_options_set_connect_timeout(set, &nanoseconds);
        wasi_http_types_method_request_options_set_first_byte_timeout(set, &nanoseconds);
        wasi_http_types_method_request_options_set_between_bytes_timeout(set, &nanoseconds);
    }
    wasi_http_types_own_future_incoming_response_t future;
    wasi_http_types_error_code_t code;
    if (!wasi_http_outgoing_handler_handle(outgoing, request->timeout > 0 ? &options : NULL, &future, &code)) {
        if (request->body) wasi_http_types_outgoing_body_drop_own(body);
        return explain(&code, request);
    }
    if (request->body && !upload(body, request)) {
        wasi_http_types_future_incoming_response_drop_own(future);
        return false;
    }
    wasi_http_types_own_incoming_response_t incoming;
    if (!wait_for(future, request, &incoming)) return false;
    wasi_http_types_borrow_incoming_response_t received = wasi_http_types_borrow_incoming_response(incoming);
    response->status = wasi_http_types_method_incoming_response_status(received);
    read_headers(received, response);
    bool is_read = read_body(received, request, response);
    wasi_http_types_incoming_response_drop_own(incoming);
    return is_read;
}

#else

// A translation unit isn't empty in ISO C.
typedef int mg_no_component_http;

#endif
