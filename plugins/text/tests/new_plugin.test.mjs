// What a new plugin begins with: the script that builds it, and the example of README.md.

import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { copyFile, mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";

test("a copied script that finds no contract says how to name it", async () => {
    const folder = await mkdtemp(join(tmpdir(), "new-plugin-"));
    try {
        await copyFile(new URL("../build.mjs", import.meta.url), join(folder, "build.mjs"));
        const { status, stderr } = spawnSync(process.execPath, ["build.mjs", "hello.wasm", "nowhere"], { cwd: folder });
        assert.equal(status, 2);
        assert.match(String(stderr), /^build\.mjs: there is no contract in .*nowhere: .*`node build\.mjs hello\.wasm …\/moongate\/wit`\n$/);
    } finally {
        await rm(folder, { recursive: true });
    }
});

test("the example of the README greets", async () => {
    const readme = await readFile(new URL("../README.md", import.meta.url), "utf8");
    const [, code] = /```js\n(.*?)```/s.exec(readme);
    const { lifecycle, tools } = await import(`data:text/javascript,${encodeURIComponent(code)}`);
    const [tool] = tools.listTools();
    assert.equal(lifecycle.describe().name, "hello");
    assert.equal(JSON.parse(tool.inputSchema).type, "object");
    const { tag, val } = tools.callTool(tool.name, JSON.stringify({ name: "Ada" }));
    assert.deepEqual([tag, val.content], ["done", [{ tag: "text", val: { text: "Hello, Ada!" } }]]);
});
