// The plugin as the gateway sees it, with fake imports.

import assert from "node:assert/strict";
import { beforeEach, test } from "node:test";

import { lifecycle, prompts, tools } from "../src/plugin.js";
import { lines, log } from "./fakes.mjs";

beforeEach(() => {
    lines.length = 0;
    log.enabled = true;
});

/** The result of a call. */
function call(name, args) {
    const { tag, val } = tools.callTool(name, JSON.stringify(args));
    assert.equal(tag, "done");
    return val;
}

/** The text of a result. */
function text(result) {
    assert.equal(result.content.length, 1);
    assert.equal(result.content[0].tag, "text");
    return result.content[0].val.text;
}

test("describes itself and lists its items", () => {
    assert.equal(lifecycle.describe().name, "text");
    for (const tool of tools.listTools()) {
        const input = JSON.parse(tool.inputSchema);
        assert.equal(input.type, "object", tool.name);
        assert.ok(tool.description.length > 20, tool.name);
        assert.ok(input.required.every((name) => name in input.properties), tool.name);
    }
    assert.deepEqual(tools.listTools().map((tool) => tool.name), ["change_case", "slug", "count"]);
    assert.deepEqual(prompts.listPrompts().map((prompt) => prompt.name), ["shorten"]);
});

test("tools return results", () => {
    assert.equal(text(call("change_case", { text: "one two", style: "camel" })), "oneTwo");
    assert.equal(text(call("slug", { text: "One two", max_length: 3 })), "one");
    const counted = call("count", { text: "one two" });
    assert.equal(counted.structured, text(counted));
    assert.equal(JSON.parse(counted.structured).words, 2);
});

test("the result of `count` matches its schema", () => {
    const { outputSchema } = tools.listTools().find((tool) => tool.name === "count");
    const names = Object.keys(JSON.parse(call("count", { text: "x" }).structured));
    assert.deepEqual(names, JSON.parse(outputSchema).required);
});

test("an invalid text is a failed result", () => {
    const answer = call("slug", { text: "東京" });
    assert.equal(answer.isError, true);
    assert.match(text(answer), /ASCII form/);
});

test("logs removed letters if enabled", () => {
    call("slug", { text: "Tokyo 東京" });
    assert.deepEqual(lines.map((line) => [line.level, line.data.letters]), [["warning", ["東", "京"]]]);
    log.enabled = false;
    call("slug", { text: "Tokyo 東京" });
    assert.equal(lines.length, 1);
});

test("the prompt contains the word counts", () => {
    const ask = (...args) => {
        const { val } = prompts.getPrompt("shorten", args);
        return val.messages[0].content.val.text;
    };
    assert.match(ask(["text", "one two three"]), /has 3 words, to at most 2 words[^]*\n\none two three$/);
    assert.match(ask(["words", "1"], ["text", "one two"]), /at most 1 words/);
    for (const words of ["0", "1.5", "", "many"]) {
        const refused = (thrown) => thrown.tag === "invalid-params" && thrown.val.at === "/words";
        assert.throws(() => ask(["text", "x"], ["words", words]), refused, words);
    }
});

test("unknown items are protocol errors", () => {
    assert.throws(() => call("nope", {}), { tag: "not-found" });
    assert.throws(() => prompts.getPrompt("nope", []), { tag: "not-found" });
});
