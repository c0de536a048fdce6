// `fetch`, in a component and in tests. The operator grants hosts with `allow.http`; the gateway adds credentials.

import { httpSend } from "#host/http";
import { bytes } from "./content.js";
import { HttpError } from "./errors.js";
import { utf8 } from "./utf8.js";

const MAX_BODY = 16 * 1024 * 1024;
const REDIRECTS = [301, 302, 303, 307, 308];

/** Headers; names are case-insensitive. */
export class Headers {
    #lines = [];

    constructor(init = []) {
        const lines = init[Symbol.iterator] ? init : Object.entries(init);
        for (const [name, value] of lines) this.append(name, value);
    }

    get(name) {
        const found = this.#lines.filter(([other]) => other === name.toLowerCase());
        return found.length > 0 ? found.map(([, value]) => value).join(", ") : null;
    }

    has(name) {
        return this.get(name) !== null;
    }

    append(name, value) {
        this.#lines.push([String(name).toLowerCase(), String(value)]);
    }

    set(name, value) {
        this.delete(name);
        this.append(name, value);
    }

    delete(name) {
        this.#lines = this.#lines.filter(([other]) => other !== name.toLowerCase());
    }

    entries() {
        return this.#lines.values();
    }

    [Symbol.iterator]() {
        return this.entries();
    }

    forEach(run) {
        for (const [name, value] of this) run(value, name, this);
    }

    keys() {
        return this.#lines.map(([name]) => name).values();
    }

    values() {
        return this.#lines.map(([, value]) => value).values();
    }
}

/** A response with its whole body. */
export class Response {
    #body;

    constructor(body, { status = 200, headers, url = "", redirected = false } = {}) {
        this.#body = body ? bytes(body) : new Uint8Array();
        Object.assign(this, { status, statusText: "", headers: new Headers(headers), url, redirected, type: "basic" });
    }

    get ok() {
        return this.status >= 200 && this.status < 300;
    }

    async bytes() {
        return this.#body;
    }

    async arrayBuffer() {
        return this.#body.slice().buffer;
    }

    async text() {
        return utf8.decode(this.#body);
    }

    async json() {
        try {
            return JSON.parse(utf8.decode(this.#body));
        } catch (error) {
            throw new HttpError("json", `invalid JSON: ${error.message}`);
        }
    }
}

/** A request that can be passed to `fetch`. */
export class Request {
    constructor(url, options = {}) {
        Object.assign(this, options, { url: String(url?.url ?? url) });
        this.method ??= "GET";
        this.headers = new Headers(options.headers);
    }
}

/**
 * Sends a request. Rejects with `HttpError`. In addition to the web's options: `timeout` in seconds for each step, and
 * `maxBody` in bytes. `redirect: "manual"` doesn't follow redirects. Bodies are text, bytes or `URLSearchParams`.
 */
export async function fetch(resource, init = {}) {
    const options = { ...(resource instanceof Request ? resource : {}), ...init };
    const { body, redirect = "follow", timeout, maxBody = MAX_BODY } = options;
    let method = (options.method ?? "GET").toUpperCase();
    let url = String(resource?.url ?? resource?.href ?? resource);
    const headers = new Headers(options.headers);
    let data = body === undefined || body === null ? undefined : bytes(isBytes(body) ? body : String(body));
    if (data && !headers.has("content-type")) {
        const isForm = body.constructor?.name === "URLSearchParams";
        const type = isForm ? "application/x-www-form-urlencoded;charset=UTF-8" : typeof body === "string" && "text/plain;charset=UTF-8";
        if (type) headers.set("content-type", type);
    }
    for (let redirects = 0; redirects <= 20; redirects += 1) {
        const place = parse(url);
        const found = httpSend({ method, ...place, headers: [...headers], body: data, timeout, maxBody });
        const lines = found.headers;
        const target = lines.find(([name]) => name.toLowerCase() === "location")?.[1];
        if (!REDIRECTS.includes(found.status) || target === undefined || redirect === "manual") {
            return new Response(found.body, { status: found.status, headers: lines, url, redirected: redirects > 0 });
        }
        if (redirect === "error") throw new HttpError("redirects", "the server redirects, which `redirect` forbids");
        const next = resolve(target, place);
        if (parse(next).origin !== place.origin) {
            headers.delete("authorization");
            headers.delete("cookie");
        }
        url = next;
        if (found.status === 303 || (found.status < 303 && method === "POST")) {
            method = "GET";
            data = undefined;
            headers.delete("content-type");
        }
    }
    throw new HttpError("redirects", "more than 20 redirects");
}

const isBytes = (body) => body instanceof ArrayBuffer || ArrayBuffer.isView(body);

/** The parts of a URL that a request needs. */
function parse(url) {
    const parts = /^(https?):\/\/(?:[^/?#@]*@)?([^/?#@\s]+)([^?#]*)(\?[^#]*)?/i.exec(url);
    if (!parts || !/^(\[[\da-f:.]+\]|[^:[\]]+)(:\d{1,5})?$/i.test(parts[2])) {
        throw new HttpError("invalid-url", `invalid URL \`${url}\`: expected \`http://\` or \`https://\` and a host`);
    }
    const escape = (text) => text.replace(/[^!#$%&'()*+,\-./0-9:;=?@A-Z[\]_a-z~]+/gu, encodeURIComponent);
    const [scheme, authority] = [parts[1].toLowerCase(), parts[2].toLowerCase()];
    return { scheme, authority, origin: `${scheme}://${authority}`, path: escape((parts[3] || "/") + (parts[4] ?? "")) };
}

/** The URL of a redirect. */
function resolve(target, { scheme, origin, path }) {
    if (/^[a-z][a-z\d+.-]*:/i.test(target)) return target;
    if (target.startsWith("//")) return `${scheme}:${target}`;
    if (target.startsWith("/")) return origin + target;
    const directory = path.replace(/\?.*$/, "");
    return target.startsWith("?") ? origin + directory + target : origin + directory.replace(/[^/]*$/, "") + target;
}
