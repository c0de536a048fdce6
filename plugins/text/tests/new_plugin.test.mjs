// The start of a new plugin: the build script, and the example in README.md.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

test("the build script explains how to pass the contract", async () => {
    const directory = await mkdtemp(join(tmpdir(), "new-plugin-"));
    try {
        await copyFile(new URL("../build.mjs", import.meta.url), join(directory, "build.mjs"));
        const { status, stderr } = spawnSync(process.execPath, ["build.mjs", "hello.wasm", "nowhere"], { cwd: directory });
        assert.equal(status, 2);
        assert.match(String(stderr), /^build\.mjs: no contract in .*nowhere: .*`node build\.mjs hello\.wasm …\/moongate\/wit`\n$/);
    } finally {
        await rm(directory, { recursive: true });
    }
});

test("the example in the README works", async () => {
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const [, code] = /```js\n(.*?)```/s.exec(readme);
    const { lifecycle, tools } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const [tool] = tools.listTools();
    assert.equal(lifecycle.describe().name, "hello");
    assert.equal(JSON.parse(tool.inputSchema).type, "object");
    const { tag, val } = tools.callTool(tool.name, JSON.stringify({ name: "Ada" }));
    assert.deepEqual([tag, val.content], ["done", [{ tag: "text", val: { text: "Hello, Ada!" } }]]);
});
