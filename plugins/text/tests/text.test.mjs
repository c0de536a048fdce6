// The functions of the tools.

import assert from "node:assert/strict";
import { test } from "node:test";

import { changeCase, count, slug, styles, Unusable, words } from "../src/text.js";

test("finds words in names of every style", () => {
    for (const name of ["parseHttpBody", "ParseHTTPBody", "parse_http_body", "PARSE-HTTP-BODY", " parse. http/body "]) {
        assert.deepEqual(words(name), ["parse", "http", "body"], name);
    }
    assert.deepEqual(words("don't isO8601 été"), ["dont", "is", "o8601", "été"]);
    assert.deepEqual(words("e\u0301te\u0301"), ["été"], "decomposed letters are composed");
    assert.deepEqual(words("—"), []);
});

test("converts texts and names to each style", () => {
    const expected = {
        camel: "oneTwo3Ä", pascal: "OneTwo3Ä", snake: "one_two_3_ä", constant: "ONE_TWO_3_Ä", kebab: "one-two-3-ä",
        train: "One-Two-3-Ä", dot: "one.two.3.ä",
    };
    assert.deepEqual(Object.keys(expected), styles);
    for (const [style, name] of Object.entries(expected)) {
        assert.equal(changeCase("One two, 3 Ä!", style), name);
    }
    assert.equal(changeCase("someXMLFile", "kebab"), "some-xml-file");
    assert.throws(() => changeCase("…", "camel"), Unusable);
});

test("a slug contains only ASCII letters, and reports removed ones", () => {
    assert.deepEqual(slug("Crème brûlée & Straße – l'Œuvre!", 80), { slug: "creme-brulee-strasse-loeuvre", lost: [] });
    assert.deepEqual(slug("Tokyo 東京 2026 東", 80), { slug: "tokyo-2026", lost: ["東", "京"] });
    assert.deepEqual(slug("ﬁne №1", 80).slug, "fine-no1");
    assert.throws(() => slug("東京", 80), Unusable);
});

test("truncates a slug between words, or inside the first", () => {
    assert.equal(slug("one two three", 7).slug, "one-two");
    assert.equal(slug("one two three", 12).slug, "one-two");
    assert.equal(slug("one two three", 13).slug, "one-two-three");
    assert.equal(slug("internationalisation", 5).slug, "inter");
});

test("counts the parts of a text", () => {
    assert.deepEqual(count("Hello, world. It's 3.5 m!\r\n\r\nBye 👋"), {
        characters: 34,
        characters_without_spaces: 25,
        words: 6,
        sentences: 3,
        lines: 3,
        paragraphs: 2,
        bytes: 37,
    });
    assert.ok(Object.values(count("")).every((number) => number === 0));
    assert.equal(count("No space.After it, 1,000.5 things").words, 6);
    assert.equal(count("“Go!” she said... (Then?) 好。好！").sentences, 5);
    assert.equal(count("one\r\ntwo\rthree").paragraphs, 1);
    assert.equal(count("a\n").lines, 1);
    assert.equal(count("a\n\n").lines, 2);
    assert.equal(count("naïve").bytes, new TextEncoder().encode("naïve").length);
    assert.equal(count("nai\u0308ve").characters, 5);
});

test("counts long texts", () => {
    assert.equal(count("word ".repeat(200_000)).words, 200_000);
    assert.equal(count("- ".repeat(200_000)).sentences, 0);
    assert.equal(count("?".repeat(200_000) + "a").sentences, 1);
    assert.equal(slug("- ".repeat(200_000) + "end", 80).slug, "end");
});
