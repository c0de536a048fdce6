// The contract's exports for a plugin.

import { sleep } from "./sleep.js";
import { Context } from "../context.js";
import { ProtocolError, ToolError } from "../errors.js";
import { NeedInput } from "../questions.js";
import { settle } from "./promise.js";

/** The exported interfaces. */
export function serve(plugin) {
    return { lifecycle: lifecycle(plugin), tools: tools(plugin), resources: resources(plugin), prompts: prompts(plugin), completions: completions(plugin) };
}

const lifecycle = ({ name, version, title, description, instructions, websiteUrl, icons, config }) => ({
    describe: () => ({
        name, version, title, description, instructions, websiteUrl, icons, configSchema: config && JSON.stringify(config),
    }),
});

const tools = (plugin) => ({
    listTools: () =>
        plugin.listTools().map((tool) => ({
            name: tool.name,
            title: tool.title,
            description: tool.description,
            inputSchema: JSON.stringify(tool.input),
            outputSchema: tool.output && JSON.stringify(tool.output),
            annotations: {
                readOnly: tool.readOnly, destructive: tool.destructive, idempotent: tool.idempotent, openWorld: tool.openWorld,
            },
            icons: tool.icons,
            meta: entries(tool.meta),
        })),
    callTool: (name, args) =>
        answer(async (context) => {
            const { content, structured, isError, meta } = await plugin.callTool(name, args, context);
            return {
                content: content.map(block),
                structured: structured === undefined ? undefined : JSON.stringify(structured),
                isError: isError || undefined,
                meta: entries(meta),
            };
        }),
});

const resources = (plugin) => ({
    listResources: () =>
        plugin.resources.filter(({ uri }) => !uri.includes("{")).map(({ uri, size, ...rest }) => ({ ...shown(rest), uri, size })),
    listTemplates: () =>
        plugin.resources.filter(({ uri }) => uri.includes("{")).map(({ uri, ...rest }) => ({ ...shown(rest), uriTemplate: uri })),
    readResource: (uri) =>
        answer(async (context) => {
            const { contents, ttl, shareable, meta } = await plugin.readResource(uri, context);
            const ttlMs = ttl === undefined ? undefined : Math.round(ttl * 1000);
            return { contents: contents.map(resource), ttlMs, shareable, meta: entries(meta) };
        }),
});

const shown = ({ name, title, description, mimeType, icons, meta }) => ({
    name, title, description, mimeType, icons, meta: entries(meta),
});

const prompts = (plugin) => ({
    listPrompts: () =>
        [...plugin.prompts.values()].map(({ name, title, description, args, icons, meta }) => ({
            name, title, description, icons, meta: entries(meta),
            args: Object.entries(args).map(([name, options]) => ({ name, ...(typeof options === "string" ? { description: options } : options) })),
        })),
    getPrompt: (name, args) =>
        answer(async (context) => {
            const { description, messages } = await plugin.getPrompt(name, args, context);
            return { description, messages: messages.map(({ role, content }) => ({ role, content: block(content) })) };
        }),
});

const completions = (plugin) => ({
    complete({ tag, val }, name, value, others) {
        const found = run(() => plugin.suggest(tag, val, name, value, Object.fromEntries(others)));
        return { values: found.values, total: found.total, hasMore: found.hasMore };
    },
});

/** Makes a call that can ask questions. */
function answer(call) {
    const context = new Context();
    try {
        return { tag: "done", val: run(() => call(context)) };
    } catch (error) {
        if (!(error instanceof NeedInput)) throw error;
        const requests = error.requests.map(({ key, method, params }) => ({ key, method, params: JSON.stringify(params) }));
        return { tag: "need-input", val: { requests, state: context.state } };
    }
}

/** Runs an async function to its end, and converts its errors to those of the contract. */
function run(call) {
    try {
        return settle(call(), sleep);
    } catch (error) {
        if (error instanceof ToolError) throw { tag: "internal", val: { message: error.message } };
        if (error instanceof NeedInput) throw error;
        if (!(error instanceof ProtocolError)) throw located(error);
        const { tag, message, at, code, capabilities } = error;
        const data = error.data === undefined ? undefined : JSON.stringify(error.data);
        if (tag === "missing-capability") throw { tag, val: capabilities };
        throw { tag, val: tag === "custom" ? { code, message, data } : { message, at, data } };
    }
}

/** A bug, with a stack that names the plugin's own files and lines. */
function located(error) {
    const lines = globalThis.moongateSourceLines ?? {};
    const frames = String(error?.stack ?? "").split("\n").flatMap((frame) => {
        const [, line, column] = /plugin\.js:(\d+):(\d+)/.exec(frame) ?? [];
        const place = lines[line]?.findLast(([start]) => start < column)?.[1];
        const name = /at ([\w$.]+) \(/.exec(frame)?.[1];
        return place ? [name && name !== "next" ? `    at ${name} (${place})` : `    at ${place}`] : [];
    });
    const located = new Error(error instanceof Error ? `${error.name}: ${error.message}` : `thrown: ${JSON.stringify(error)}`);
    located.stack = frames.filter((frame, index) => frame !== frames[index - 1]).slice(0, 8).join("\n");
    return located;
}

const entries = (values) => values && Object.entries(values).map(([key, value]) => [key, JSON.stringify(value)]);

function resource({ uri, mimeType, text, data, meta }) {
    const body = text === undefined ? { tag: "blob", val: data } : { tag: "text", val: text };
    return { uri, mimeType, body, meta: entries(meta) };
}

/** A block in the contract's form. */
function block(content) {
    const { type, annotations, meta, ...rest } = content;
    const common = { annotations, meta: entries(meta) };
    switch (type) {
        case "text":
            return { tag: "text", val: { text: rest.text, ...common } };
        case "image":
        case "audio":
            return { tag: type, val: { data: rest.data, mimeType: rest.mimeType, ...common } };
        case "resource_link":
            return { tag: "link", val: { ...rest, ...common } };
        case "resource":
            return { tag: "embedded", val: { contents: resource(rest.resource), ...common } };
        default:
            return { tag: "other", val: JSON.stringify(content) };
    }
}
