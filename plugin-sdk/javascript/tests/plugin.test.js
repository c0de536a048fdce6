// Plugins in the test client: arguments, results, errors, and everything that the gateway offers.

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

import {
    changes, Completion, config, files, form, image, kv, link, log, message, page, Plugin, progress, ProtocolError, ReadResult, Result,
    roots, s, sampling, ToolError,
} from "moongate";
import { accept, Client, decline, rooted, sampled } from "moongate/testing";

const SETTINGS = { server: s.string(), days: s.integer().default(3), cities: s.array(s.string()).optional() };

const plugin = new Plugin({ name: "test", version: "0.1.0", config: SETTINGS })
    .tool(
        "forecast",
        {
            description: "Get the forecast.",
            input: {
                city: s.string("The city."),
                days: s.integer({ minimum: 1, maximum: 10 }).default(1),
                unit: s.enum(["celsius", "kelvin"]).nullable().optional(),
            },
            readOnly: true,
        },
        ({ city, days, unit }) => `${city} ${days} ${unit}`,
    )
    .tool("measure", { input: { text: s.string() }, output: { bytes: s.integer() } }, async ({ text }) => ({ bytes: text.length || "none" }))
    .tool("chart", {}, () => ["a chart", image(new Uint8Array([1]), "image/png"), link("x://y", "y")])
    .tool("both", {}, () => new Result({ content: "two words", structured: { words: 2 } }))
    .tool("list", {}, () => [{ name: "a", type: "file" }])
    .tool("circular", {}, () => {
        const found = {};
        return Object.assign(found, { found });
    })
    .tool("function", { output: { a: s.any() } }, () => () => 1)
    .tool("fail", { input: { how: s.string() } }, async ({ how }) => {
        if (how === "tool") throw new ToolError("can't; try another one");
        if (how === "protocol") throw ProtocolError.invalidParams("not that", { at: "/how" });
        throw new TypeError(how);
    })
    .tool("hidden", { when: () => false }, () => "")
    .tool("add", { input: { text: s.string() } }, ({ text }) => {
        const notes = kv.update("notes", (old = []) => [...old, text]);
        changes.resource("notes://all");
        log.info({ notes: notes.length });
        progress.report(1, 2, "stored");
        progress.report(1);
        return notes.length;
    })
    .tool("clear", {}, async (_, ctx) => {
        const number = await ctx.once("number", () => kv.increment("clears"));
        if (!ctx.ask("sure", form(`Delete ${kv.keys().length} notes?`, { sure: s.boolean(), why: s.string().optional() })).sure) return "kept";
        for (const key of kv.keys()) kv.delete(key);
        return `deleted ${number}`;
    })
    .tool("hasty", {}, (_, ctx) => {
        kv.set("a", 1);
        return ctx.ask("sure", form("Sure?", { sure: s.boolean() }));
    })
    .tool("deaf", {}, (_, ctx) => {
        try {
            ctx.ask("sure", form("Sure?", { sure: s.boolean() }));
        } catch {}
        return "done";
    })
    .tool("ask", {}, (_, ctx) => {
        const { model, where } = ctx.askAll({ model: sampling("Hi", { maxTokens: 10, temperature: 0.5 }), where: roots(), page: page("Open", "https://x") });
        const { action } = ctx.ask("declined", form("Sure?", { sure: s.boolean() }, { mayDecline: true }));
        return `${model.text} ${where[0].uri} ${action}`;
    })
    .tool("fetch", { input: { url: s.string(), body: s.string().optional() } }, async ({ url, body }) => {
        const response = await fetch(url, body && { method: "POST", body: JSON.stringify({ body }), headers: { "X-Key": "k" } });
        if (!response.ok) throw new ToolError(`status ${response.status}`);
        return body ? (await response.json()).got : response.text();
    })
    .tool("about", {}, () => JSON.stringify([config.typed(SETTINGS), config.get("other")]))
    .tool("who", {}, (_, ctx) => JSON.stringify([ctx.principal, ctx.client, ctx.revision, ctx.remaining, ctx.cancelled, ctx.meta("a/b")]))
    .tool("files", { input: { directory: s.string() } }, ({ directory }) => {
        files.write(`${directory}/a`, "text");
        files.rename(`${directory}/a`, `${directory}/b`);
        return [files.list(directory), files.readText(`${directory}/b`), files.stat(`${directory}/b`), files.exists(`${directory}/a`)];
    })
    .tool("missing", {}, () => files.readText("/no/such/file"))
    .resource("notes://all", { mimeType: "application/json" }, () => new ReadResult({ uri: "notes://all", text: "[]" }, { ttl: 60 }))
    .resource("notes://days/{year}/{+rest}", {}, ({ year, rest, uri }) => `${year} ${rest} ${uri}`)
    .prompt("shorten", { args: { text: { required: true }, words: "How many." } }, ({ text, words = "9" }) => [message("user", `${words}: ${text}`)])
    .complete({ prompt: "shorten", argument: "words" }, (typed) => new Completion(["10", "100"].filter((one) => one.startsWith(typed)), { total: 2 }));

const client = new Client(plugin);

test("schemas come from the builder", () => {
    assert.deepEqual(plugin.tools.get("forecast").input, {
        type: "object",
        properties: {
            city: { type: "string", description: "The city." },
            days: { type: "integer", minimum: 1, maximum: 10, default: 1 },
            unit: { type: ["string", "null"], enum: ["celsius", "kelvin", null] },
        },
        required: ["city"],
        additionalProperties: false,
    });
});

test("absent arguments have their defaults", async () => {
    assert.equal((await client.call("forecast", { city: "Oslo" })).text, "Oslo 1 undefined");
});

test("returns structured results, blocks and JSON", async () => {
    assert.deepEqual((await client.call("measure", { text: "ab" })).structured, { bytes: 2 });
    assert.equal((await client.call("measure", { text: "ab" })).text, '{"bytes":2}');
    await assert.rejects(client.call("measure", { text: "" }), /`\/bytes` must be integer/);
    assert.deepEqual((await client.call("chart")).content.map(({ type }) => type), ["text", "image", "resource_link"]);
    const both = await client.call("both");
    assert.deepEqual([both.text, both.structured], ["two words", { words: 2 }]);
    assert.equal((await client.call("list")).text, '[{"name":"a","type":"file"}]');
    for (const name of ["circular", "function"]) {
        await assert.rejects(client.call(name), new RegExp(`the tool \`${name}\` returned a value that JSON can't represent: `));
    }
});

test("reports errors to the model, to the program, or as a bug", async () => {
    const failed = await client.call("fail", { how: "tool" });
    assert.deepEqual([failed.failed, failed.text], [true, "can't; try another one"]);
    await assert.rejects(client.call("fail", { how: "protocol" }), { tag: "invalid-params", at: "/how" });
    await assert.rejects(client.call("fail", { how: "bug" }), TypeError);
    await assert.rejects(client.call("nope"), { tag: "not-found" });
    assert.equal((await client.call("missing")).text, "`/no/such/file`: No such file or directory");
});

test("hides tools", () => assert(!client.tools().some(({ name }) => name === "hidden")));

test("keeps state, and reports changes, messages and progress", async () => {
    const client = new Client(plugin);
    await client.call("add", { text: "Milk" });
    assert.equal((await client.call("add", { text: "Bread" })).text, "2");
    assert.deepEqual(client.state.notes, ["Milk", "Bread"]);
    assert.deepEqual(client.changes, ["notes://all", "notes://all"]);
    assert.deepEqual(client.logs[1].data, { notes: 2 });
    assert.deepEqual(client.progress, [{ current: 1, total: 2, message: "stored" }]);
});

test("missing grants are failures", async () => {
    const client = new Client(plugin, { stateGranted: false });
    assert.equal((await client.call("add", { text: "x" })).text, "state isn't granted; an operator can allow it");
    assert.match((await client.call("fetch", { url: "https://a.example/x" })).text, /GET https:\/\/a\.example isn't granted/);
});

test("questions start the call again", async () => {
    const client = new Client(plugin, { state: { a: 1 }, answers: { sure: accept({ sure: true }) } });
    assert.equal((await client.call("clear")).text, "deleted 1");
    assert.deepEqual(client.state, {});
    assert.deepEqual(client.asked[0].params.requestedSchema, {
        type: "object", properties: { sure: { type: "boolean" }, why: { type: "string" } }, required: ["sure"],
    });
    const declined = await new Client(plugin, { answers: { sure: decline() } }).call("clear");
    assert.deepEqual([declined.failed, declined.text], [true, 'the user declined the question "Delete 1 notes?"']);
    await assert.rejects(new Client(plugin, { answers: { sure: decline() } }).call("hasty"), /would write it again/);
    await assert.rejects(new Client(plugin).call("deaf"), /discarded the question `sure`/);
    await assert.rejects(new Client(plugin).call("clear"), /asked `sure`, which isn't in `answers`/);
});

test("asks the model, for roots and for a page", async () => {
    const answers = { model: ({ temperature }) => sampled(`T${temperature}`), where: rooted("file:///a"), page: accept(), declined: decline() };
    assert.equal((await new Client(plugin, { answers }).call("ask")).text, "T0.5 file:///a decline");
});

test("sends requests", async () => {
    const client = new Client(plugin, {
        pages: {
            "https://a.example/x": "text",
            "https://a.example/moved/y?q": { status: 302, headers: { Location: "../x" } },
            "https://a.example/echo": ({ body, headers }) => ({ json: { got: JSON.parse(body).body + headers["x-key"] } }),
        },
    });
    assert.equal((await client.call("fetch", { url: "https://a.example/x" })).text, "text");
    assert.equal((await client.call("fetch", { url: "https://a.example/echo", body: "hi" })).text, "hik");
    assert.equal((await client.call("fetch", { url: "https://a.example/y" })).text, "status 404");
    assert.equal(client.requests.length, 3);
    for (const url of ["ftp://a", "https://", "https://a:b/"]) {
        assert.match((await client.call("fetch", { url })).text, /^invalid URL `/);
    }
});

test("reads settings", async () => {
    const found = new Client(plugin, { config: { server: "https://s", cities: ["Oslo"] } });
    assert.deepEqual(JSON.parse((await found.call("about")).text), [{ server: "https://s", days: 3, cities: ["Oslo"] }, null]);
    const table = "`[plugins.<name>.config]` of `gateway.toml`";
    assert.equal((await client.call("about")).text, `missing \`server\` in ${table}`);
    const wrong = new Client(plugin, { config: { server: "", days: "many" } });
    assert.equal((await wrong.call("about")).text, `invalid \`days\` in ${table}: expected integer`);
});

test("describes the request", async () => {
    const found = new Client(plugin, { principal: "ada", client: { name: "c", version: "1" }, remaining: 1.5, meta: { "a/b": [1] } });
    assert.deepEqual(JSON.parse((await found.call("who")).text), ["ada", { name: "c", version: "1" }, "2025-11-25", 1.5, false, [1]]);
});

test("uses files", async () => {
    const directory = await mkdtemp(join(tmpdir(), "moongate-"));
    try {
        assert.equal((await client.call("files", { directory })).text, '[[{"name":"b","type":"file"}],"text",{"type":"file","size":4},false]');
    } finally {
        await rm(directory, { recursive: true });
    }
});

test("serves resources, prompts and completions", async () => {
    assert.equal((await client.read("notes://all"))[0].text, "[]");
    assert.equal((await client.read("notes://days/2026/a/b%20c"))[0].text, "2026 a/b c notes://days/2026/a/b%20c");
    await assert.rejects(client.read("other://"), { tag: "not-found" });
    assert.deepEqual((await client.prompt("shorten", { text: "A" }))[0].content, { type: "text", text: "9: A" });
    assert.deepEqual(await client.complete({ prompt: "shorten", argument: "words" }, "100"), ["100"]);
});

test("finds mistakes when the module is loaded", () => {
    const plugin = new Plugin({ name: "bad", version: "0" });
    assert.throws(() => plugin.tool("a b!", {}, () => ""), /invalid name/);
    assert.throws(() => plugin.tool("a", {}), /needs a function/);
    assert.throws(() => plugin.tool("a", {}, () => "").tool("a", {}, () => ""), /two tools/);
    assert.throws(() => plugin.resource("a://{b*}", {}, () => ""), /invalid template/);
    assert.throws(() => kv.get("a"), /only work during a call/);
});
