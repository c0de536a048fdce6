// What the tools do with a text. Nothing here knows the gateway.

/** The styles of `changeCase`, each with how it joins words. */
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

/** Letters that don't come apart into a plain one and a mark. */
const SPELLED = {
    ß: "ss", ẞ: "SS", æ: "ae", Æ: "AE", œ: "oe", Œ: "OE", ø: "o", Ø: "O", å: "a", Å: "A",
    đ: "d", Đ: "D", ð: "d", Ð: "D", þ: "th", Þ: "TH", ł: "l", Ł: "L", ı: "i",
};

/** Something in what a caller sent that the tool can't work with; its message is for the caller. */
export class Unusable extends Error {}

/**
 * The words of a text or of a name in any style, in small letters: `parseHTTPBody2` has `parse`, `http` and `body2`.
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
    if (found.length === 0) throw new Unusable("there is no letter and no digit in `text`");
    return STYLES[style](found);
}

/**
 * The text as a part of an address: small letters of ASCII, digits and hyphens, cut between words where it can be.
 * Gives back the slug, and the letters that have no form in ASCII.
 */
export function slug(text, longest) {
    const plain = text.replace(/./gu, (letter) => SPELLED[letter] ?? letter).normalize("NFKD").replace(/\p{M}/gu, "");
    const lost = new Set(plain.match(/[^\x00-\x7f]/gu)?.filter((letter) => /[\p{L}\p{N}]/u.test(letter)));
    const parts = plain.toLowerCase().replace(/['’]/gu, "").match(/[a-z0-9]+/g) ?? [];
    if (parts.length === 0) throw new Unusable("nothing in `text` can be written in letters of ASCII or digits");
    let result = parts[0].slice(0, longest);
    for (const part of parts.slice(1)) {
        if (result.length + 1 + part.length > longest) break;
        result += `-${part}`;
    }
    return { slug: result, lost: [...lost] };
}

/** Counts what a text consists of. */
export function count(text) {
    const composed = text.normalize("NFC").replace(/\r\n|[\r\u2028\u2029]/gu, "\n");
    const lines = composed.split("\n");
    if (lines.at(-1) === "") lines.pop(); // what ends the last line doesn't begin another
    // A sentence ends at a mark with a space behind it, so not inside of 3.5; marks of East Asia need no space.
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

/** How many there are; an array of them would take much memory. */
function number(items) {
    let found = 0;
    for (const _ of items) found += 1;
    return found;
}

/** A word with a large letter in front. */
function capital(word) {
    const [first, ...rest] = word;
    return first.toUpperCase() + rest.join("");
}

/** How many bytes a text has in UTF-8; a sandbox has no `TextEncoder`. */
function utf8Length(text) {
    let bytes = 0;
    for (const letter of text) {
        const code = letter.codePointAt(0);
        bytes += code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    }
    return bytes;
}
