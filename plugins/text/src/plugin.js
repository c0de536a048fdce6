// What the gateway asks of the plugin: the exports `lifecycle`, `tools` and `prompts` of wit/world.wit, in the names
// that JavaScript has for them. What is optional there may be left out here.

import { enabled, write } from "moongate:plugin/log@0.1.0";

import { changeCase, count, slug, styles, Unusable } from "./text.js";

const TEXT = { type: "string", description: "The text." };

/** All tools: what is said of them, and what they do with their arguments, which fit the schema. */
const TOOLS = [
    {
        name: "change_case",
        title: "Change case",
        description:
            "Writes a text as a name, such as of a variable or a file: camelCase, PascalCase, snake_case, " +
            "CONSTANT_CASE, kebab-case, Train-Case or dot.case. Takes names of any style, too.",
        input: {
            properties: { text: TEXT, style: { type: "string", enum: styles, description: "The style of the name." } },
            required: ["text", "style"],
        },
        run: ({ text, style }) => done(changeCase(text, style)),
    },
    {
        name: "slug",
        title: "Slug",
        description: "Writes a title as a part of an address: small letters without accents, digits and hyphens.",
        input: {
            properties: {
                text: TEXT,
                max_length: {
                    type: "integer", minimum: 1, maximum: 200, default: 80,
                    description: "The most characters; it is cut between words where that is possible.",
                },
            },
            required: ["text"],
        },
        run({ text, max_length: longest = 80 }) {
            const made = slug(text, longest);
            if (made.lost.length > 0) {
                log("warning", { message: "letters without a form in ASCII were left out", letters: made.lost.slice(0, 20) });
            }
            return done(made.slug);
        },
    },
    {
        name: "count",
        title: "Count",
        description:
            "Counts characters (code points), words, sentences, lines, paragraphs and bytes (UTF-8) of a text exactly. " +
            "Words are counted between spaces and marks, so not in scripts that write without spaces.",
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
        description: "Writes texts as names and slugs, and counts what they consist of.",
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
            if (!(error instanceof Unusable)) throw error; // a mistake of ours: the call ends as a crash
            return { tag: "done", val: { ...done(error.message), isError: true } };
        }
    },
};

export const prompts = {
    listPrompts: () => [
        {
            name: "shorten",
            title: "Shorten a text",
            description: "Asks the model to shorten a text to a number of words.",
            args: [
                { name: "text", description: "The text.", required: true },
                { name: "words", description: "The most words; half of what the text has, if this isn't given." },
            ],
        },
    ],

    getPrompt(name, args) {
        if (name !== "shorten") fail("not-found", `there is no prompt \`${name}\``);
        const { text, words: wanted } = Object.fromEntries(args);
        const has = count(text).words;
        const most = wanted === undefined ? Math.max(1, Math.ceil(has / 2)) : Number(wanted);
        if (!Number.isInteger(most) || most < 1) {
            fail("invalid-params", `\`words\` is \`${wanted}\`; it must be a whole number, 1 or more`, "/words");
        }
        const ask =
            `Shorten the following text, which has ${has} words, to at most ${most} words. ` +
            `Keep its language, its tone and every fact that matters.\n\n${text}`;
        const content = { tag: "text", val: { text: ask } };
        return { tag: "done", val: { messages: [{ role: "user", content }] } };
    },
};

/** A JSON Schema of an object, as text. */
function schema(object) {
    return JSON.stringify({ type: "object", ...object, additionalProperties: false });
}

/** A result that is one text. */
function done(text) {
    return { content: [{ tag: "text", val: { text } }] };
}

/** Ends a request with an error of the protocol. */
function fail(tag, message, at) {
    throw { tag, val: { message, at } };
}

/** Writes a line to the log, if anybody reads it. */
function log(level, data) {
    if (enabled(level)) write(level, undefined, JSON.stringify(data));
}
