// Mistakes of plugins in JavaScript: the same tools as in the guests `misuse` and `misuse-python`.

import { config, files, form, kv, Plugin, s } from "moongate";

const BYTES = { bytes: s.integer() };

export default new Plugin({ name: "misuse", version: "0.1.0" })
    .tool("typed", { input: { count: s.integer({ minimum: 0 }), city: s.string().nullable().optional() } }, ({ count, city }) => `${count} ${city ?? ""}`)
    .tool("state", {}, () => String(kv.increment("calls")))
    .tool("contend", {}, () => {
        let attempts = 0;
        return kv.update("contended", (old = 0) => {
            attempts += 1;
            if (attempts === 1) kv.set("contended", 10);
            return old + 1;
        });
    })
    .tool("store", { input: BYTES }, ({ bytes }) => kv.set("large", "x".repeat(bytes)))
    .tool("request", { input: { url: s.string() } }, async ({ url }) => (await fetch(url, { maxBody: 1000 })).text())
    .tool("file", { input: { path: s.string() } }, ({ path }) => files.readText(path))
    .tool("ask", {}, (_, ctx) => String(ctx.ask("sure", form("Sure?", { sure: s.boolean() })).sure))
    .tool("setting", {}, () => config.required("unit"))
    .tool("large", { input: BYTES }, ({ bytes }) => "x".repeat(bytes))
    .tool("wrong", { output: BYTES }, () => ({ bytes: "many" }))
    .tool("crash", {}, ({ list }) => list["a bug in the plugin"].length)
    .tool("last", {}, () => "");
