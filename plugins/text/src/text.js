// The functions of the tools.

import { ToolError } from "moongate";

/** The styles of `changeCase`, each with a function that joins words. */
const STYLES = {
    camel: (words) => words.map((word, at) => (at === 0 ? word : capital(word))).join(""),
    pascal: (words) => words.map(capital).join(""),
    snake: (words) => words.join("_"),
    constant: (words) => words.join("_").toUpperCase(),
    kebab: (words) => words.join("-"),
    train: (words) => words.map(capital).join("-"),
    dot: (words) => words.join("."),
};

/** The names of the styles. */
export const styles = Object.keys(STYLES);

/** Letters that Unicode doesn't decompose into a plain letter and a mark. */
const SPELLED = {
    ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", å: "a", Å: "A",
    đ: "d", Đ: "D", ð: "d", Ð: "D", þ: "th", Þ: "TH", ł: "l", Ł: "L", ı: "i",
};

/** An invalid argument; the message is for the caller. */
export class Unusable extends ToolError {}

/**
 * The words of a text or of a name in any style, in lower case: `parseHTTPBody2` has `parse`, `http` and `body2`.
 */
export function words(text) {
    const parted = text
        .normalize("NFC")
        .replace(/(?<=[\p{Ll}\p{N}])(?=\p{Lu})/gu, " ")
        .replace(/(?<=\p{Lu})(?=\p{Lu}\p{Ll})/gu, " ")
        .replace(/['’]/gu, "");
    return (parted.match(/[\p{L}\p{M}\p{N}]+/gu) ?? []).map((word) => word.toLowerCase());
}

/** The text as a name in one of `styles`. */
export function changeCase(text, style) {
    const found = words(text);
    if (found.length === 0) throw new Unusable("`text` contains no letters or digits");
    return STYLES[style](found);
}

/**
 * The text as part of a URL: lower-case ASCII letters, digits and hyphens, truncated between words if possible.
 * Returns the slug, and the letters without an ASCII form.
 */
export function slug(text, longest) {
    const plain = text.replace(/./gu, (letter) => SPELLED[letter] ?? letter).normalize("NFKD").replace(/\p{M}/gu, "");
    const lost = new Set(plain.match(/[^\x00-\x7f]/gu)?.filter((letter) => /[\p{L}\p{N}]/u.test(letter)));
    const parts = plain.toLowerCase().replace(/['’]/gu, "").match(/[a-z0-9]+/g) ?? [];
    if (parts.length === 0) throw new Unusable("`text` contains no letters or digits with an ASCII form");
    let result = parts[0].slice(0, longest);
    for (const part of parts.slice(1)) {
        if (result.length + 1 + part.length > longest) break;
        result += `-${part}`;
    }
    return { slug: result, lost: [...lost] };
}

/** Counts characters, words, sentences and so on. */
export function count(text) {
    const composed = text.normalize("NFC").replace(/\r\n|[\r\u2028\u2029]/gu, "\n");
    const lines = composed.split("\n");
    if (lines.at(-1) === "") lines.pop(); // a final newline doesn't start another line
    // A sentence ends at a mark followed by a space, so not inside of 3.5; East Asian marks need no space.
    const sentences = composed.split(/(?<![.!?…])[.!?…]+["'”’»)\]]*(?=\s|$)|[。！？]/u);
    return {
        characters: number(text.normalize("NFC")),
        characters_without_spaces: number(composed.replace(/\s/gu, "")),
        words: number(composed.matchAll(/[\p{L}\p{M}\p{N}]+(?:['’-][\p{L}\p{M}\p{N}]+|(?<=\p{N})[.,]\p{N}+)*/gu)),
        sentences: sentences.filter((part) => /[\p{L}\p{N}]/u.test(part)).length,
        lines: lines.length,
        paragraphs: composed.split(/\n[ \t]*\n/).filter((part) => part.trim() !== "").length,
        bytes: utf8Length(text),
    };
}

/** The number of items. Counted one by one, because an array would need a lot of memory. */
function number(items) {
    let found = 0;
    for (const _ of items) found += 1;
    return found;
}

/** A word with a capital first letter. */
function capital(word) {
    const [first, ...rest] = word;
    return first.toUpperCase() + rest.join("");
}

/** The length of a text in UTF-8 bytes. The sandbox has no `TextEncoder`. */
function utf8Length(text) {
    let bytes = 0;
    for (const letter of text) {
        const code = letter.codePointAt(0);
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    }
    return bytes;
}
