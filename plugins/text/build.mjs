// Builds a component from src/plugin.js: `node build.mjs FILE [CONTRACT]`. CONTRACT is the directory `wit` of Moongate's
// sources; the default is that of the enclosing checkout.
// Packages are loaded from the current directory, so they don't have to be next to this file.

import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [file, named = join(here, "../../wit")] = process.argv.slice(2);
const contract = resolve(named);
if (!file) stop("missing output file: `node build.mjs FILE [CONTRACT]`");
if (!existsSync(join(contract, "lifecycle.wit"))) {
    stop(`no contract in ${contract}: pass the directory \`wit\` of Moongate's sources, ` +
        `\`node build.mjs ${file} …/moongate/wit\``);
}

const { componentize } = createRequire(join(process.cwd(), "package.json"))("componentize-qjs");

// componentize-qjs reads one directory: our world, and in `deps` the packages that it uses.
const wit = await mkdtemp(join(tmpdir(), "plugin-"));
try {
    await cp(join(here, "wit"), wit, { recursive: true });
    await cp(join(contract, "deps"), join(wit, "deps"), { recursive: true });
    await cp(contract, join(wit, "deps/moongate"), {
        recursive: true,
        filter: (path) => path === contract || dirname(path) === contract && path.endsWith(".wit"),
    });
    const source = join(here, "src/plugin.js");
    const { component } = await componentize({
        witPath: wit,
        world: "plugin",
        jsSource: await readFile(source, "utf8"),
        jsPath: source,
        moduleRoot: join(here, "src"),
        sync: true, // imports are synchronous
    });
    // Write to a temporary file and rename it, so that a gateway that watches the file never sees a partial one.
    await mkdir(dirname(resolve(file)), { recursive: true });
    await writeFile(`${file}.new`, component);
    await rename(`${file}.new`, file);
} finally {
    await rm(wit, { recursive: true });
}

/** Exits with a message instead of a stack trace. */
function stop(message) {
    console.error(`build.mjs: ${message}`);
    process.exit(2);
}
