// The plugin's interface to the gateway: the exports `lifecycle`, `tools` and `prompts` of wit/world.wit, with
// JavaScript names. Optional fields can be omitted.

import { enabled, write } from "moongate:plugin/log@0.1.0";

import { changeCase, count, slug, styles, Unusable } from "./text.js";

const TEXT = { type: "string", description: "The text." };

/** The tools: their descriptions, schemas and functions. The gateway validates arguments before a call. */
const TOOLS = [
    {
        name: "change_case",
        title: "Change case",
        description:
            "Convert text or an identifier in any style to another naming style: camelCase, PascalCase, " +
            "snake_case, CONSTANT_CASE, kebab-case, Train-Case or dot.case.",
        input: {
            properties: { text: TEXT, style: { type: "string", enum: styles, description: "The style of the name." } },
            required: ["text", "style"],
        },
        run: ({ text, style }) => done(changeCase(text, style)),
    },
    {
        name: "slug",
        title: "Slug",
        description: "Convert a title to a slug for a URL: lower-case letters without accents, digits and hyphens.",
        input: {
            properties: {
                text: TEXT,
                max_length: {
                    type: "integer", minimum: 1, maximum: 200, default: 80,
                    description: "The maximum length. Longer slugs are truncated between words if possible.",
                },
            },
            required: ["text"],
        },
        run({ text, max_length: longest = 80 }) {
            const made = slug(text, longest);
            if (made.lost.length > 0) {
                log("warning", { message: "letters without an ASCII form were removed", letters: made.lost.slice(0, 20) });
            }
            return done(made.slug);
        },
    },
    {
        name: "count",
        title: "Count",
        description:
            "Count the characters (code points), words, sentences, lines, paragraphs and UTF-8 bytes of a text. Use it for " +
            "exact counts. Words are separated by spaces and punctuation, so scripts without spaces aren't supported.",
        input: { properties: { text: TEXT }, required: ["text"] },
        output: {
            properties: Object.fromEntries(
                Object.keys(count("")).map((name) => [name, { type: "integer", minimum: 0 }]),
            ),
            required: Object.keys(count("")),
        },
        run({ text }) {
            const counted = JSON.stringify(count(text));
            return { ...done(counted), structured: counted };
        },
    },
];

export const lifecycle = {
    describe: () => ({
        name: "text",
        version: "0.1.0",
        title: "Text",
        description: "Convert texts to names and slugs, and count their words and characters.",
    }),
};

export const tools = {
    listTools: () =>
        TOOLS.map(({ name, title, description, input, output }) => ({
            name,
            title,
            description,
            inputSchema: schema(input),
            outputSchema: output && schema(output),
            annotations: { readOnly: true, destructive: false, idempotent: true, openWorld: false },
        })),

    callTool(name, args) {
        const tool = TOOLS.find((tool) => tool.name === name);
        if (!tool) fail("not-found", `there is no tool \`${name}\``);
        try {
            return { tag: "done", val: tool.run(JSON.parse(args)) };
        } catch (error) {
            if (!(error instanceof Unusable)) throw error; // a bug: the call ends as a crash
            return { tag: "done", val: { ...done(error.message), isError: true } };
        }
    },
};

export const prompts = {
    listPrompts: () => [
        {
            name: "shorten",
            title: "Shorten a text",
            description: "Ask the model to shorten a text to a number of words.",
            args: [
                { name: "text", description: "The text.", required: true },
                { name: "words", description: "The maximum number of words. Default: half of the text's." },
            ],
        },
    ],

    getPrompt(name, args) {
        if (name !== "shorten") fail("not-found", `there is no prompt \`${name}\``);
        const { text, words: wanted } = Object.fromEntries(args);
        const has = count(text).words;
        const most = wanted === undefined ? Math.max(1, Math.ceil(has / 2)) : Number(wanted);
        if (!Number.isInteger(most) || most < 1) {
            fail("invalid-params", `invalid \`words\`: expected an integer, 1 or more, got \`${wanted}\``, "/words");
        }
        const ask =
            `Shorten the following text, which has ${has} words, to at most ${most} words. ` +
            `Keep its language, its tone and every fact that matters.\n\n${text}`;
        const content = { tag: "text", val: { text: ask } };
        return { tag: "done", val: { messages: [{ role: "user", content }] } };
    },
};

/** A JSON Schema of an object, as a string. */
function schema(object) {
    return JSON.stringify({ type: "object", ...object, additionalProperties: false });
}

/** A result with one text block. */
function done(text) {
    return { content: [{ tag: "text", val: { text } }] };
}

/** Fails a request with a protocol error. */
function fail(tag, message, at) {
    throw { tag, val: { message, at } };
}

/** Writes a log message, if the level is enabled. */
function log(level, data) {
    if (enabled(level)) write(level, undefined, JSON.stringify(data));
}
