// The blocks of the pages in docs/guide.

import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile } from "node:fs/promises";
import { test } from "node:test";

const guide = new URL("../../../docs/guide/", import.meta.url);

test("the blocks of the guide work", { skip: !existsSync(guide) && "the package stands alone" }, async (t) => {
    // A module from a `data:` URL can't import packages by name, so name this package's files.
    const file = (path) => JSON.stringify(new URL(`../src/${path}`, import.meta.url).href);
    let count = 0;
    for (const page of (await readdir(guide)).sort()) {
        const blocks = [...(await readFile(new URL(page, guide), "utf8")).matchAll(/```js\n(.*?)```/gs)].map(([, code]) => code);
        if (blocks.length === 0) continue;
        count += blocks.length;
        await t.test(page, async () => {
            for (const block of blocks) {
                const code = block.replace('"moongate/testing"', file("testing.js")).replace('"moongate"', file("index.js"));
                await import(`data:text/javascript,${encodeURIComponent(code)}`);
            }
        });
    }
    assert(count > 12);
});
