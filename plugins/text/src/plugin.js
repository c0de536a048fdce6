// The plugin: its tools and its prompt.

import { log, Plugin, ProtocolError, s } from "moongate";

import { changeCase, count, slug, styles } from "./text.js";

const TEXT = s.string("The text.");

/** All tools change nothing, and only use their arguments. */
const HINTS = { readOnly: true, destructive: false, idempotent: true, openWorld: false };

export default new Plugin({
    name: "text",
    version: "0.1.0",
    title: "Text",
    description: "Convert texts to names and slugs, and count their words and characters.",
})
    .tool(
        "change_case",
        {
            title: "Change case",
            description:
                "Convert text or an identifier in any style to another naming style: camelCase, PascalCase, " +
                "snake_case, CONSTANT_CASE, kebab-case, Train-Case or dot.case.",
            input: { text: TEXT, style: s.enum(styles, "The style of the name.") },
            ...HINTS,
        },
        ({ text, style }) => changeCase(text, style),
    )
    .tool(
        "slug",
        {
            title: "Slug",
            description: "Convert a title to a slug for a URL: lower-case letters without accents, digits and hyphens.",
            input: {
                text: TEXT,
                max_length: s
                    .integer({ minimum: 1, maximum: 200 })
                    .describe("The maximum length. Longer slugs are truncated between words if possible.")
                    .default(80),
            },
            ...HINTS,
        },
        ({ text, max_length }) => {
            const made = slug(text, max_length);
            if (made.lost.length > 0) {
                log.warning({ message: "letters without an ASCII form were removed", letters: made.lost.slice(0, 20) });
            }
            return made.slug;
        },
    )
    .tool(
        "count",
        {
            title: "Count",
            description:
                "Count the characters (code points), words, sentences, lines, paragraphs and UTF-8 bytes of a text. Use it for " +
                "exact counts. Words are separated by spaces and punctuation, so scripts without spaces aren't supported.",
            input: { text: TEXT },
            output: Object.fromEntries(Object.keys(count("")).map((name) => [name, s.integer({ minimum: 0 })])),
            ...HINTS,
        },
        ({ text }) => count(text),
    )
    .prompt(
        "shorten",
        {
            title: "Shorten a text",
            description: "Ask the model to shorten a text to a number of words.",
            args: {
                text: { description: "The text.", required: true },
                words: "The maximum number of words. Default: half of the text's.",
            },
        },
        ({ text, words: wanted }) => {
            const has = count(text).words;
            const most = wanted === undefined ? Math.max(1, Math.ceil(has / 2)) : Number(wanted);
            if (!Number.isInteger(most) || most < 1) {
                const message = `invalid \`words\`: expected an integer, 1 or more, got \`${wanted}\``;
                throw ProtocolError.invalidParams(message, { at: "/words" });
            }
            return (
                `Shorten the following text, which has ${has} words, to at most ${most} words. ` +
                `Keep its language, its tone and every fact that matters.\n\n${text}`
            );
        },
    );
