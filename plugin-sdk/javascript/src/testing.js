// A test client that calls a plugin natively, without WebAssembly and without a gateway.
//
// A call that asks a question is made again from the top with the answer from `answers`, as a gateway does. A test fails if
// the plugin would misbehave in a gateway: it acts before a question and so acts twice, discards a question or asks one
// without an answer, or returns structured content that doesn't match its schema. Limits and grants aren't tested.

import assert from "node:assert/strict";

import { Context } from "./context.js";
import { runWith } from "./fake.js";
import * as http from "./http.js";
import { NeedInput } from "./questions.js";
import { mismatch } from "./schema.js";
import { utf8 } from "./utf8.js";

/** The user's answer to a form. */
export const accept = (content = {}) => ({ action: "accept", content });

/** The user declines a form or page. */
export const decline = () => ({ action: "decline" });

/** The answer of the client's model. */
export const sampled = (text, model = "test") => ({ role: "assistant", model, content: { type: "text", text } });

/** The client's directories. */
export const rooted = (...uris) => ({ roots: uris.map((uri) => ({ uri })) });

export class Client {
    #gateway;

    constructor(plugin, options = {}) {
        const { config = {}, state = {}, answers = {}, ...rest } = options;
        const text = (value) => (typeof value === "string" ? value : JSON.stringify(value));
        this.plugin = plugin;
        this.#gateway = {
            stateGranted: true, env: {}, meta: {}, cancelled: false, logLevel: "debug", revision: "2025-11-25",
            capabilities: ["elicitation", "sampling", "roots"],
            ...rest,
            answers,
            config: Object.fromEntries(Object.entries(config).map(([key, value]) => [key, text(value)])),
            stored: new Map(Object.entries(state).map(([key, value]) => [key, utf8.encode(JSON.stringify(value))])),
            logs: [], progress: [], changes: [], requests: [], asked: [], writes: 0,
        };
        for (const name of ["logs", "progress", "changes", "requests", "asked"]) this[name] = this.#gateway[name];
        globalThis.fetch = fetchInTests;
    }

    /** The stored state. */
    get state() {
        return Object.fromEntries([...this.#gateway.stored].map(([key, value]) => [key, JSON.parse(utf8.decode(value))]));
    }

    /** The tools that are listed now. */
    tools() {
        return runWith(this.#gateway, () => this.plugin.listTools());
    }

    /** Calls a tool. Its arguments aren't checked against its schema, as a gateway would do. */
    async call(name, args = {}) {
        const result = await this.#rounds((context) => this.plugin.callTool(name, JSON.stringify(args), context));
        const { output } = this.plugin.tools.get(name);
        if (output && !result.isError) {
            assert(result.structured !== undefined, `\`${name}\` has an output schema, but returned no structured content`);
            const problem = mismatch(output, JSON.parse(JSON.stringify(result.structured)));
            assert(!problem, `the structured content of \`${name}\` doesn't match its schema: ${problem}`);
        }
        const texts = result.content.filter((block) => block.type === "text").map((block) => block.text);
        return { text: texts.join("\n"), content: result.content, structured: result.structured, failed: result.isError };
    }

    /** Reads a resource: the list of its contents. */
    async read(uri) {
        return (await this.#rounds((context) => this.plugin.readResource(uri, context))).contents;
    }

    /** Gets a prompt's messages. */
    async prompt(name, args = {}) {
        return (await this.#rounds((context) => this.plugin.getPrompt(name, Object.entries(args), context))).messages;
    }

    /** The suggestions for an argument of `{ prompt }` or `{ resource }`. */
    async complete({ prompt, resource, argument }, typed, others = {}) {
        const kind = prompt === undefined ? "resource-template" : "prompt";
        const run = () => this.plugin.suggest(kind, prompt ?? resource, argument, typed, others);
        return (await runWith(this.#gateway, run)).values;
    }

    async #rounds(run) {
        const gateway = this.#gateway;
        return runWith(gateway, async () => {
            gateway.answered = {};
            gateway.roundState = undefined;
            for (;;) {
                const written = gateway.writes;
                gateway.asking = undefined;
                const context = new Context();
                try {
                    const result = await run(context);
                    assert(!gateway.asking, `the call discarded the question \`${gateway.asking?.[0].key}\`: throw it again`);
                    return result;
                } catch (error) {
                    if (!(error instanceof NeedInput)) throw error;
                    const again = "would write it again in the next round: ask first, or use `ctx.once`";
                    assert.equal(gateway.writes, written, `the call wrote something before it asked a question, and ${again}`);
                    for (const request of error.requests) {
                        const { key, params } = request;
                        gateway.asked.push(request);
                        assert(key in gateway.answers, `the call asked \`${key}\`, which isn't in \`answers\``);
                        const answer = gateway.answers[key];
                        gateway.answered[key] = typeof answer === "function" ? answer(params) : answer;
                    }
                    gateway.roundState = context.state;
                }
            }
        });
    }
}

/** `fetch` in tests: a call of a plugin uses `pages`. */
const fetchInTests = (...args) => http.fetch(...args);
