// The plugin as a client sees it, with a fake gateway.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Client } from "moongate/testing";

import plugin from "../src/plugin.js";

const client = new Client(plugin);

test("tools return results", async () => {
    assert.equal((await client.call("change_case", { text: "one two", style: "camel" })).text, "oneTwo");
    assert.equal((await client.call("slug", { text: "One two", max_length: 3 })).text, "one");
    const counted = await client.call("count", { text: "one two" });
    assert.deepEqual([counted.structured.words, JSON.parse(counted.text)], [2, counted.structured]);
});

test("an invalid text is a failed result", async () => {
    const answer = await client.call("slug", { text: "東京" });
    assert(answer.failed);
    assert.match(answer.text, /ASCII form/);
});

test("logs removed letters if enabled", async () => {
    const client = new Client(plugin);
    await client.call("slug", { text: "Tokyo 東京" });
    assert.deepEqual(client.logs.map(({ level, data }) => [level, data.letters]), [["warning", ["東", "京"]]]);
    const quiet = new Client(plugin, { logLevel: "error" });
    await quiet.call("slug", { text: "Tokyo 東京" });
    assert.deepEqual(quiet.logs, []);
});

test("the prompt contains the word counts", async () => {
    const ask = async (args) => (await client.prompt("shorten", args))[0].content.text;
    assert.match(await ask({ text: "one two three" }), /has 3 words, to at most 2 words[^]*\n\none two three$/);
    assert.match(await ask({ words: "1", text: "one two" }), /at most 1 words/);
    for (const words of ["0", "1.5", "", "many"]) {
        await assert.rejects(ask({ text: "x", words }), { tag: "invalid-params", at: "/words" }, words);
    }
});
