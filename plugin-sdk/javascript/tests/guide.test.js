// The blocks of docs/guide/javascript.md.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { test } from "node:test";

const guide = new URL("../../../docs/guide/javascript.md", import.meta.url);

test("the blocks of the guide work", { skip: !existsSync(guide) && "the package stands alone" }, async () => {
    const blocks = [...(await readFile(guide, "utf8")).matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
    assert(blocks.length > 8);
    // A module from a `data:` URL can't import packages by name, so name this package's files.
    const file = (path) => JSON.stringify(new URL(`../src/${path}`, import.meta.url).href);
    for (const block of blocks) {
        const code = block.replace('"moongate/testing"', file("testing.js")).replace('"moongate"', file("index.js"));
        await import(`data:text/javascript,${encodeURIComponent(code)}`);
    }
});
