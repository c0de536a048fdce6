// Lets Node run tests of plugins: `node --import moongate/register --test`. Resolves `moongate`, also without an installed
// package, and compiles TypeScript.

import { readFile } from "node:fs/promises";
import { createRequire, register } from "node:module";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

if (!import.meta.url.includes("?hooks")) register(`${import.meta.url}?hooks`);

const own = createRequire(import.meta.url);

export async function resolve(name, context, next) {
    if (name === "moongate" || name.startsWith("moongate/")) {
        return next(pathToFileURL(own.resolve(name)).href, context);
    }
    return next(name, context);
}

export async function load(url, context, next) {
    if (!/\.m?ts$/.test(url)) return next(url, context);
    const { transform } = createRequire(join(process.cwd(), "package.json"))("esbuild");
    const text = await readFile(fileURLToPath(url), "utf8");
    const { code } = await transform(text, { loader: "ts", sourcemap: "inline", sourcefile: fileURLToPath(url) });
    return { format: "module", source: code, shortCircuit: true };
}
