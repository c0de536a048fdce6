// The call in progress: the second parameter of a function.

import * as request from "#host/request";
import { NeedInput } from "./questions.js";
import { utf8 } from "./utf8.js";

export class Context {
    #once;

    constructor() {
        const state = request.state();
        this.#once = state ? JSON.parse(utf8.decode(state)) : {};
    }

    /** The authenticated caller, if the gateway authenticates callers. */
    get principal() {
        return request.principal() ?? undefined;
    }

    /** The client program, `{ name, version, title }`. Don't trust it for authorization. */
    get client() {
        return request.client() ?? undefined;
    }

    /** The MCP revision of the request, such as `2026-07-28`. */
    get revision() {
        return request.revision() ?? undefined;
    }

    /** True if the caller has cancelled the request or disconnected. Check it regularly in long calls. */
    get cancelled() {
        return request.cancelled();
    }

    /** The time in seconds until the gateway ends the call. */
    get remaining() {
        const left = request.remainingMs() ?? undefined;
        return left && left / 1000;
    }

    /** True if the client supports this capability, such as `elicitation`, and the plugin is allowed to use it. */
    capability(name) {
        return request.capability(name);
    }

    /** A member of the request's `_meta`. */
    meta(key) {
        const json = request.metaValue(key) ?? undefined;
        return json && JSON.parse(json);
    }

    /**
     * Asks the client, and returns its answer. `key` is a name that is unique in this call. The first time, the function ends
     * here; the gateway gets the answer and calls it again from the top, and then this returns the answer.
     */
    ask(key, question) {
        return this.askAll({ [key]: question })[key];
    }

    /** Asks several questions together. */
    askAll(questions) {
        const open = [];
        const answers = {};
        for (const [key, { method, params, read }] of Object.entries(questions)) {
            const json = request.answer(key) ?? undefined;
            if (json === undefined) open.push({ key, method, params });
            else answers[key] = read(JSON.parse(json));
        }
        if (open.length > 0) {
            request.asking?.(open);
            throw new NeedInput(open);
        }
        return answers;
    }

    /**
     * Runs `work` once for the whole call, even if it starts again to ask something; later rounds get the stored result. The
     * result travels through the client, sealed by the gateway, so keep it small: an id, not a document.
     */
    async once(key, work) {
        if (!(key in this.#once)) {
            const result = await (request.once?.(work) ?? work());
            this.#once[key] = JSON.parse(JSON.stringify(result ?? null));
        }
        return this.#once[key];
    }

    /** The results of `once`, for the next round. */
    get state() {
        return Object.keys(this.#once).length > 0 ? utf8.encode(JSON.stringify(this.#once)) : undefined;
    }
}
