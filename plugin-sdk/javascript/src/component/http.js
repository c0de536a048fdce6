// `wasi:http/outgoing-handler` as one blocking function.

import { handle } from "wasi:http/outgoing-handler@0.2.12";
import { Fields, httpErrorCode, OutgoingBody, OutgoingRequest, RequestOptions } from "wasi:http/types@0.2.12";

import { HttpError } from "../errors.js";
import { utf8 } from "../utf8.js";
import { payload } from "./payload.js";

const METHODS = ["get", "head", "post", "put", "delete", "connect", "options", "trace", "patch"];

/** Sends a request, and waits for the whole response. */
export function httpSend({ method, scheme, authority, origin, path, headers, body, timeout, maxBody }) {
    const place = { method, origin };
    const lines = headers.map(([name, value]) => [name, utf8.encode(value)]);
    if (body && !headers.some(([name]) => name === "content-length")) {
        lines.push(["content-length", utf8.encode(String(body.length))]);
    }
    let fields;
    try {
        fields = Fields.fromList(lines);
    } catch (error) {
        throw new HttpError("invalid-header", `cannot send the headers: ${payload(error)?.tag ?? error}`);
    }
    const request = new OutgoingRequest(fields);
    const known = METHODS.includes(method.toLowerCase());
    try {
        request.setMethod(known ? { tag: method.toLowerCase() } : { tag: "other", val: method });
        request.setScheme({ tag: scheme === "https" ? "HTTPS" : "HTTP" });
        request.setAuthority(authority);
        request.setPathWithQuery(path);
    } catch {
        throw new HttpError("invalid-url", `invalid URL \`${origin}\`: the gateway rejected its method, host or path`);
    }
    const outgoing = body && request.body();
    const future = attempt(place, () => handle(request, options(timeout)));
    if (outgoing) upload(outgoing, body, place);
    const response = wait(future, place);
    const content = download(response, place, maxBody);
    return { status: content.status, headers: content.headers, body: content.data };
}

function options(timeout) {
    if (timeout === undefined) return undefined;
    const made = new RequestOptions();
    const nanoseconds = Math.max(1, Math.round(timeout * 1e9));
    made.setConnectTimeout(nanoseconds);
    made.setFirstByteTimeout(nanoseconds);
    made.setBetweenBytesTimeout(nanoseconds);
    return made;
}

function wait(future, place) {
    for (;;) {
        let found = future.get();
        if (found === null || found === undefined) {
            const pollable = future.subscribe();
            pollable.block();
            dispose(pollable);
            continue;
        }
        for (let depth = 0; depth < 2 && (found?.tag === "ok" || found?.tag === "err"); depth += 1) {
            if (found.tag === "err") throw explain(found.val, place);
            found = found.val;
        }
        dispose(future);
        return found;
    }
}

function upload(outgoing, body, place) {
    const stream = outgoing.write();
    try {
        for (let at = 0; at < body.length; at += 4096) stream.blockingWriteAndFlush(body.subarray(at, at + 4096));
    } catch (error) {
        // A server can answer before it has read the whole body; then the response is the result.
        const code = errorCode(error);
        if (code) throw explain(code, place);
        return;
    } finally {
        dispose(stream);
    }
    attempt(place, () => OutgoingBody.finish(outgoing, undefined));
}

function download(response, place, maxBody) {
    const status = response.status();
    const fields = response.headers();
    const headers = fields.entries().map(([name, value]) => [name, utf8.decode(Uint8Array.from(value))]);
    dispose(fields);
    const incoming = response.consume();
    const stream = incoming.stream();
    const parts = [];
    let size = 0;
    try {
        for (;;) {
            const part = stream.blockingRead(64 * 1024);
            size += part.length;
            if (size > maxBody) {
                const reason = `larger than ${maxBody} bytes; to allow more, set \`maxBody\``;
                throw new HttpError("too-large", `the response from \`${place.origin}\` is ${reason}`);
            }
            parts.push(part);
        }
    } catch (error) {
        if (error instanceof HttpError) throw error;
        if (tagOf(error) !== "closed") throw explain(errorCode(error), place);
    } finally {
        for (const resource of [stream, incoming, response]) dispose(resource);
    }
    const data = new Uint8Array(size);
    let at = 0;
    for (const part of parts) {
        data.set(part, at);
        at += part.length;
    }
    return { status, headers, data };
}

function attempt(place, run) {
    try {
        return run();
    } catch (error) {
        throw explain(payload(error), place);
    }
}

const dispose = (resource) => resource[Symbol.dispose]?.();
const tagOf = (error) => payload(error)?.tag;

/** The code of a failed stream, if it has one. */
function errorCode(error) {
    const found = payload(error);
    return found?.tag === "last-operation-failed" ? httpErrorCode(found.val) ?? undefined : undefined;
}

// Reasons that the gateway can give: the kind of the error, and its message for an origin.
const REASONS = {
    "destination-IP-prohibited": ["private-address", "`{}` has no public address; an operator can allow it"],
    "DNS-timeout": ["dns", "cannot resolve `{}`: DNS lookup timed out"],
    "destination-not-found": ["dns", "cannot resolve `{}`"],
    "destination-unavailable": ["connect", "cannot connect to `{}`: host unreachable"],
    "destination-IP-unroutable": ["connect", "cannot connect to `{}`: no route to its address"],
    "connection-refused": ["connect", "cannot connect to `{}`: connection refused"],
    "connection-terminated": ["connect", "cannot connect to `{}`: connection closed"],
    "connection-timeout": ["timeout", "request to `{}` timed out"],
    "connection-read-timeout": ["timeout", "request to `{}` timed out"],
    "connection-write-timeout": ["timeout", "request to `{}` timed out"],
    "HTTP-response-timeout": ["timeout", "request to `{}` timed out"],
    "HTTP-response-incomplete": ["protocol", "invalid response from `{}`: truncated: the server closed the connection before its end"],
    "connection-limit-reached": ["limit", "too many concurrent requests to send another one to `{}` (`limits.requests_at_once`)"],
    "TLS-protocol-error": ["tls", "TLS error for `{}`: unsupported TLS version, or not TLS"],
    "TLS-certificate-error": ["tls", "TLS error for `{}`: certificate verification failed"],
    "TLS-alert-received": ["tls", "TLS error for `{}`: the server sent an alert"],
    "HTTP-request-body-size": ["limit", "request to `{}` exceeded `limits.sent`, the total size of a call's request bodies"],
    "HTTP-response-body-size": ["limit", "request to `{}` exceeded `limits.received`, the bytes that a call can receive"],
    "loop-detected": ["other", "`{}` is the gateway itself"],
};

/** The error for a code of `wasi:http`. */
function explain(code, { method, origin }) {
    if (code instanceof Error) return code;
    const { tag, val } = code ?? { tag: "connection-terminated" };
    if (tag === "HTTP-request-denied") {
        return new HttpError("not-granted", `the request ${method} ${origin} isn't granted; an operator can allow it`);
    }
    if (tag === "DNS-error") return new HttpError("dns", `cannot resolve \`${origin}\`${val.rcode ? `: ${val.rcode}` : ""}`);
    if (tag === "internal-error" && val) return new HttpError("other", val);
    if (tag === "internal-error" || tag === "configuration-error") {
        return new HttpError("other", `the gateway couldn't send the request to \`${origin}\`; see its log`);
    }
    const [kind, reason] = REASONS[tag] ?? ["protocol", `invalid response from \`{}\`: ${String(tag).replaceAll("-", " ")}`];
    return new HttpError(kind, reason.replace("{}", () => origin));
}
