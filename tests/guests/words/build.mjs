// Builds a component from src/words.js: `node build.mjs FILE`. Packages are loaded from the current directory.

import { readFile, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const { componentize } = createRequire(join(process.cwd(), "package.json"))("componentize-qjs");
const jsPath = join(here, "src/words.js");
const { component } = await componentize({
    witPath: join(here, "wit"),
    world: "words",
    jsSource: await readFile(jsPath, "utf8"),
    jsPath,
    moduleRoot: join(here, "src"),
    sync: true,
});
await writeFile(process.argv[2], component);
