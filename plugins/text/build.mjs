// Makes a component of src/plugin.js: `node build.mjs FILE [CONTRACT]`. CONTRACT is the folder `wit` of Moongate's sources;
// without it, that of the checkout around this folder.
// The packages are those of the current folder, so that they needn't lie beside this file.

import { existsSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const [file, named = join(here, "../../wit")] = process.argv.slice(2);
const contract = resolve(named);
if (!file) stop("say where the component goes: `node build.mjs FILE [CONTRACT]`");
if (!existsSync(join(contract, "lifecycle.wit"))) {
    stop(`there is no contract in ${contract}: name the folder \`wit\` of Moongate's sources, ` +
        `\`node build.mjs ${file} …/moongate/wit\``);
}

const { componentize } = createRequire(join(process.cwd(), "package.json"))("componentize-qjs");

// The tool reads one folder: our world, and in `deps` the packages that it names.
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
        sync: true, // calls of the gateway are answered where they are asked
    });
    // Written beside its place and renamed: a gateway that watches the file sees only whole ones.
    await mkdir(dirname(resolve(file)), { recursive: true });
    await writeFile(`${file}.new`, component);
    await rename(`${file}.new`, file);
} finally {
    await rm(wit, { recursive: true });
}

/** Ends with a sentence in place of a stack. */
function stop(message) {
    console.error(`build.mjs: ${message}`);
    process.exit(2);
}
