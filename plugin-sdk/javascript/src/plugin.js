// The plugin: a collection of functions, and the calls that a gateway makes.

import { blocks, Completion, isBlock, ReadResult, Result } from "./content.js";
import { ProtocolError, ToolError } from "./errors.js";
import { toJson, withDefaults } from "./schema.js";

/** A plugin. Make it the default export of your module. `config` are the schemas of its settings. */
export class Plugin {
    constructor({ name, version, title, description, instructions, websiteUrl, icons, config }) {
        Object.assign(this, { name, version, title, description, instructions, websiteUrl, icons });
        this.config = config && toJson(config);
        this.tools = new Map();
        this.resources = [];
        this.prompts = new Map();
        this.completions = [];
    }

    /**
     * A tool: a function that a model can call. `input` are the schemas of its arguments, and with `output`, the function
     * returns structured content.
     */
    tool(name, { input = {}, output, ...options }, run) {
        define(this.tools, "tool", name, run);
        this.tools.set(name, { name, ...options, input: toJson(input), output: output && toJson(output), run });
        return this;
    }

    /**
     * A resource. With braces, `uri` is a template, and the function's first parameter has a member for each: `{name}` is a
     * path segment, and `{+name}` is any string.
     */
    resource(uri, { name = uri, ...options }, run) {
        if (typeof run !== "function") throw new TypeError(`the resource \`${uri}\` needs a function`);
        if ((uri.match(/\{\+?\w+\}/g) ?? []).length !== uri.split("{").length - 1) {
            throw new TypeError(`invalid template \`${uri}\`: use \`{name}\` or \`{+name}\``);
        }
        this.resources.push({ uri, name, ...options, pattern: pattern(uri), run });
        return this;
    }

    /** A prompt. `args` are its arguments, `{ name: { description, required } }`; they are strings. */
    prompt(name, { args = {}, ...options }, run) {
        define(this.prompts, "prompt", name, run);
        this.prompts.set(name, { name, ...options, args, run });
        return this;
    }

    /** Suggestions for an argument of a prompt or of a template: `{ prompt, argument }` or `{ resource, argument }`. */
    complete({ prompt, resource, argument }, run) {
        const known = prompt === undefined ? this.resources.some(({ uri }) => uri === resource) : this.prompts.has(prompt);
        if (!known) throw new TypeError(`there is no \`${prompt ?? resource}\` above this completion`);
        const kind = prompt === undefined ? "resource-template" : "prompt";
        this.completions.push({ kind, target: prompt ?? resource, argument, run });
        return this;
    }

    // --- calls of the gateway ---

    /** The tools to offer. */
    listTools() {
        return [...this.tools.values()].filter(({ when }) => !when || when());
    }

    async callTool(name, args, context) {
        const tool = this.tools.get(name);
        if (!tool) throw ProtocolError.notFound(`there is no tool \`${name}\``);
        try {
            const found = await tool.run(withDefaults(tool.input, JSON.parse(args)), context);
            return result(found, tool);
        } catch (error) {
            if (!(error instanceof ToolError)) throw error;
            return new Result({ content: error.message, isError: true });
        }
    }

    async readResource(uri, context) {
        for (const { pattern, mimeType, run } of this.resources) {
            const values = pattern.exec(uri);
            if (!values) continue;
            const decoded = Object.entries(values.groups ?? {}).map(([name, value]) => [name, decodeURIComponent(value)]);
            const found = await asInternal(() => run({ uri, ...Object.fromEntries(decoded) }, context));
            return contents(found, uri, mimeType);
        }
        throw ProtocolError.notFound(`there is no resource \`${uri}\``);
    }

    async getPrompt(name, args, context) {
        const prompt = this.prompts.get(name);
        if (!prompt) throw ProtocolError.notFound(`there is no prompt \`${name}\``);
        const found = await asInternal(() => prompt.run(Object.fromEntries(args), context));
        const messages = [found].flat().map((one) => (one.role ? one : { role: "user", content: blocks(one)[0] }));
        return { description: prompt.description, messages };
    }

    async suggest(kind, target, argument, typed, others) {
        const found = this.completions.find((one) => one.kind === kind && one.target === target && one.argument === argument);
        const values = found ? await found.run(typed, others) : [];
        return values instanceof Completion ? values : new Completion(values);
    }
}

function define(items, kind, name, run) {
    if (!/^[\w.\-/ ]{1,128}$/.test(name)) throw new TypeError(`invalid name \`${name}\`: use up to 128 letters, digits, \`_\` and \`-\``);
    if (items.has(name)) throw new TypeError(`there are two ${kind}s with the name \`${name}\``);
    if (typeof run !== "function") throw new TypeError(`the ${kind} \`${name}\` needs a function`);
}

/** The pattern of a template, with a group for each variable. */
function pattern(uri) {
    const parts = uri.split(/(\{\+?\w+\})/).map((part) => {
        const variable = /^\{(\+?)(\w+)\}$/.exec(part);
        if (!variable) return part.replace(/[.*+?^${}()|[\]\\]/g, "\\$&");
        return variable[1] ? `(?<${variable[2]}>.+)` : `(?<${variable[2]}>[^/?#]+)`;
    });
    return new RegExp(`^${parts.join("")}$`, "s");
}

/** A resource or prompt has no `isError`, so a failure is an internal error. */
async function asInternal(run) {
    try {
        return await run();
    } catch (error) {
        throw error instanceof ToolError ? ProtocolError.internal(error.message) : error;
    }
}

function result(found, { name, output }) {
    if (found instanceof Result) return found;
    if (output) {
        const structured = found === undefined ? null : found;
        return new Result({ content: json(structured, name), structured });
    }
    if (found === undefined || found === null) return new Result();
    const list = [found].flat();
    const isContent = list.every((one) => typeof one === "string" || isBlock(one));
    return new Result({ content: isContent && (list.length > 0 || found === list) ? list : json(found, name) });
}

/** The text of a tool's result. */
function json(value, name) {
    const problem = `the tool \`${name}\` returned a value that JSON can't represent`;
    let text;
    try {
        text = JSON.stringify(value);
    } catch (error) {
        if (!(error instanceof TypeError)) throw error;
        throw new TypeError(`${problem}: ${error.message}`);
    }
    if (text === undefined) throw new TypeError(`${problem}: a ${typeof value}`);
    return text;
}

function contents(found, uri, mimeType) {
    if (found instanceof ReadResult) return found;
    if (typeof found === "string") return new ReadResult({ uri, mimeType, text: found });
    if (found instanceof Uint8Array) return new ReadResult({ uri, mimeType, data: found });
    if ([found].flat().every((one) => typeof one?.uri === "string")) return new ReadResult(found);
    return new ReadResult({ uri, mimeType: mimeType ?? "application/json", text: JSON.stringify(found) });
}

