#!/usr/bin/env node
// Builds a plugin as a component: `moongate-build FILE [MODULE]`. MODULE is src/plugin.ts or src/plugin.js by default.
//
// esbuild bundles the modules of the plugin, its packages and this library, compiles TypeScript, and turns async functions into
// generators (src/component/promise.js says why). componentize-qjs makes a component of the result. The world contains only
// what is left after unused code is removed.

import { existsSync, rmSync } from "node:fs";
import { cp, mkdir, mkdtemp, readFile, rename, rm, writeFile } from "node:fs/promises";
import { builtinModules, createRequire } from "node:module";
import { tmpdir } from "node:os";
import { dirname, join, relative, resolve } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";

import { Plugin } from "./src/index.js";

/** A plugin that can't be loaded. */
class LoadError extends Error {}

const here = dirname(fileURLToPath(import.meta.url));
const own = createRequire(import.meta.url);
const project = createRequire(join(process.cwd(), "package.json"));

const [output, named] = process.argv.slice(2);
if (!output) stop("missing output file: `moongate-build FILE [MODULE]`", 64);
const source = [named, "src/plugin.ts", "src/plugin.js"].find((path) => path && existsSync(path));
if (!source) stop(named ? `there is no module \`${named}\`` : "there is neither `src/plugin.ts` nor `src/plugin.js`", 66);
const esbuild = tool("esbuild");
const { componentize } = tool("componentize-qjs");

/** WIT interfaces stay imports, and are left out if nothing uses them. `moongate` is this package. */
const resolver = {
    name: "moongate",
    setup({ onResolve }) {
        onResolve({ filter: /^(wasi|moongate):/ }, ({ path }) => ({ path: hidden(path), external: true, sideEffects: false }));
        onResolve({ filter: /^moongate$/ }, () => ({ path: join(here, "src/index.js"), sideEffects: false }));
        // Otherwise esbuild would suggest building for Node.
        onResolve({ filter: /./ }, ({ path, importer }) => {
            const name = path.replace(/^node:/, "");
            const isNodes = builtinModules.includes(name) && (path !== name || !existsSync(join("node_modules", name)));
            if (!isNodes || /\bnode_modules\b/.test(importer)) return undefined;
            const instead = { fs: "`files` from `moongate`", "fs/promises": "`files` from `moongate`", http: "`fetch`", https: "`fetch`" }[name];
            const text = `\`${path}\` is a Node module, and plugins don't run in Node${instead ? `; use ${instead}` : ""}`;
            return { errors: [{ text }] };
        });
    },
};
const common = {
    bundle: true, format: "esm", write: false, logLevel: "error", legalComments: "none", metafile: true,
    nodePaths: [join(process.cwd(), "node_modules"), join(here, "node_modules")],
};

const directory = await mkdtemp(join(tmpdir(), "moongate-"));
// `moongate dev` terminates running builds.
process.once("SIGTERM", () => {
    rmSync(directory, { recursive: true, force: true });
    process.exit(143);
});
try {
    const plugin = await load();
    const { code, imports, asks } = await bundle();
    await mkdir(join(directory, "wit/deps"), { recursive: true });
    await cp(join(here, "wit/deps"), join(directory, "wit/deps"), { recursive: true });
    await cp(join(here, "wit"), join(directory, "wit/deps/moongate"), {
        recursive: true,
        filter: (path) => path === join(here, "wit") || path.endsWith(".wit") && dirname(path) === join(here, "wit"),
    });
    for (const name of ["http", "io", "clocks", "cli", "random", "filesystem"]) {
        const file = join(directory, `wit/deps/wasi-${name}-0.2.12/${name}.wit`);
        await writeFile(file, hidden(await readFile(file, "utf8")));
    }
    if (!asks) {
        // Otherwise the gateway would report that the plugin was built to ask the client.
        const file = join(directory, "wit/deps/moongate/host.wit");
        await writeFile(file, (await readFile(file, "utf8")).replace(/\n {2}answer: func[^;]*;/, ""));
    }
    await writeFile(join(directory, "wit/world.wit"), world(plugin, imports));
    await writeFile(join(directory, "plugin.js"), code);
    const { component } = await componentize({
        witPath: join(directory, "wit"), world: "component", jsSource: code, jsPath: join(directory, "plugin.js"),
        moduleRoot: directory, sync: true, // imports are synchronous
    });
    // A gateway that watches the file never sees a partial one.
    await mkdir(dirname(resolve(output)), { recursive: true });
    await writeFile(`${output}.new`, revealed(component));
    await rename(`${output}.new`, output);
} catch (error) {
    process.exitCode = 1;
    if (error instanceof LoadError) console.error(`error: ${error.message}`);
    else if (!error.errors) throw error; // esbuild has printed its messages
} finally {
    await rm(directory, { recursive: true });
}

/** Loads the plugin in Node, to find out what it offers. */
async function load() {
    const built = await esbuild.build({
        ...common, platform: "node", entryPoints: [source], sourcemap: "inline", outfile: join(directory, "plugin.mjs"),
        // Packages in CommonJS require Node's modules.
        banner: { js: 'import { createRequire as moongateRequire } from "node:module"; globalThis.require = moongateRequire(import.meta.url);' },
        plugins: [
            {
                name: "moongate",
                setup: ({ onResolve }) =>
                    onResolve({ filter: /^moongate$/ }, () => ({ path: pathToFileURL(join(here, "src/index.js")).href, external: true })),
            },
        ],
    });
    const file = join(directory, "plugin.mjs");
    await writeFile(file, built.outputFiles[0].contents);
    process.setSourceMapsEnabled(true);
    globalThis.fetch = () => {
        throw new Error("`fetch` works only in calls; top-level code runs at build time");
    };
    const { default: plugin } = await import(pathToFileURL(file).href).catch((error) => {
        throw new LoadError(`can't load \`${source}\`: ${error}\n${ownFrames(error)}`.trimEnd());
    });
    if (!(plugin instanceof Plugin)) throw new LoadError(`the default export of \`${source}\` must be a \`Plugin\``);
    return plugin;
}

/** The frames of a stack that are in the project's own files, not in its packages. */
function ownFrames(error) {
    const stack = String(error?.stack ?? "");
    const root = `${process.cwd()}/`;
    const frames = stack.split("\n").filter((line) => /^ +at /.test(line) && line.includes(root));
    return frames.filter((line) => !/node_modules/.test(line) && !line.includes(here)).map((line) => line.replace(root, "")).join("\n");
}

/** All code of the component, and the interfaces that it imports. */
async function bundle() {
    const entry = [
        `import ${JSON.stringify(join(here, "src/component/runtime.js"))};`,
        `import plugin from ${JSON.stringify(resolve(source))};`,
        `import { serve } from ${JSON.stringify(join(here, "src/component/exports.js"))};`,
        "export const { lifecycle, tools, resources, prompts, completions } = serve(plugin);",
    ].join("\n");
    const supported = { "async-await": false, "async-generator": false, "for-await": false, "top-level-await": false };
    const { outputFiles, metafile } = await esbuild.build({
        ...common, platform: "neutral", mainFields: ["module", "main"], conditions: ["moongate-component", "import"],
        target: "es2023", supported, keepNames: true, stdin: { contents: entry, resolveDir: process.cwd() }, plugins: [resolver],
        inject: [join(here, "src/component/globals.js")], sourcemap: "external", outfile: join(directory, "plugin.js"),
    });
    const [map, js] = outputFiles[0].path.endsWith(".map") ? outputFiles : outputFiles.toReversed();
    const { imports } = Object.values(metafile.outputs).find((one) => one.entryPoint || one.imports.length > 0);
    const lines = JSON.stringify(sourceLines(JSON.parse(map.text)));
    const own = Object.keys(metafile.inputs).filter((file) => file !== "<stdin>" && !resolve(file).startsWith(`${here}/`));
    const texts = await Promise.all(own.map((file) => readFile(resolve(file), "utf8").catch(() => "")));
    const asks = texts.some((text) => /\bask(All)?\b/.test(text));
    return { code: `${js.text}\nglobalThis.moongateSourceLines = ${lines};\n`, asks, imports: imports.filter(({ external }) => external).map(({ path }) => path) };
}

/**
 * The lines of the plugin's own files, for stack traces: for each line of the bundle, the columns at which they start. A line
 * of the bundle can contain many lines of a file, because esbuild joins chained calls.
 */
function sourceLines({ sources, mappings }) {
    const root = resolve(dirname(source), "..");
    const files = sources.map((file) => relative(root, resolve(directory, file)));
    const isOwn = files.map((file) => !/^\.\.|node_modules/.test(file) && !resolve(root, file).startsWith(`${here}/`));
    const found = {};
    let [file, line] = [0, 0];
    for (const [index, group] of mappings.split(";").entries()) {
        let column = 0;
        for (const segment of group.split(",").filter(Boolean)) {
            const [columnStep, fileStep = 0, lineStep = 0] = numbers(segment);
            column += columnStep;
            file += fileStep;
            line += lineStep;
            if (!isOwn[file]) continue;
            const places = (found[index + 1] ??= []);
            const place = `${files[file]}:${line + 1}`;
            if (places.at(-1)?.[1] !== place) places.push([column, place]);
        }
    }
    return found;
}

/** The numbers of a segment of a source map: base64 VLQ. */
function numbers(segment) {
    const found = [];
    let [value, shift] = [0, 0];
    for (const char of segment) {
        const digit = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/".indexOf(char);
        value += (digit & 31) << shift;
        shift += 5;
        if (digit < 32) {
            found.push(value & 1 ? -(value >> 1) : value >> 1);
            [value, shift] = [0, 0];
        }
    }
    return found;
}

/** The world of a plugin. */
function world(plugin, imports) {
    const offered = {
        lifecycle: true, tools: plugin.tools.size, resources: plugin.resources.length, prompts: plugin.prompts.size,
        completions: plugin.completions.length,
    };
    const exported = Object.keys(offered).filter((name) => offered[name]);
    const lines = [...new Set(imports)].sort().map((name) => `  import ${name};`);
    lines.push(...exported.map((name) => `  export moongate:plugin/${name}@0.1.0;`));
    return `package moongate:component;\n\nworld component {\n${lines.join("\n")}\n}\n`;
}

/**
 * The names of WASI 0.2.12 while the component is built. componentize-qjs links WASI's own interfaces and stubs the others, so
 * that `wasi:http`, which shares types with `wasi:io`, doesn't fit. With names of the same length that it doesn't know, all
 * of them are stubs.
 */
function hidden(text) {
    return text.replace(/\bwasi:([a-z]+(?:\/[a-z-]+)?@0\.2\.12)/g, "wasx:$1");
}

/**
 * The component with WASI's names in its imports: section 10 of the binary format. The runtime imports 0.2.12 itself, and a name
 * must be unique, so these are of 0.2.10, which is compatible.
 */
function revealed(component) {
    const bytes = Buffer.from(component);
    for (let at = 8; at < bytes.length; ) {
        const id = bytes[at++];
        let size = 0;
        for (let shift = 0; ; shift += 7) {
            const byte = bytes[at++];
            size += (byte & 127) * 2 ** shift;
            if (byte < 128) break;
        }
        const end = at + size;
        for (let found = bytes.indexOf("wasx:", at); id === 10 && found >= 0 && found < end; found = bytes.indexOf("wasx:", found)) {
            bytes.write("wasi:", found);
            bytes.write("0.2.10", bytes.indexOf("@0.2.12", found) + 1);
        }
        at = end;
    }
    return bytes;
}

/** A build tool, of the project or of this package. */
function tool(name) {
    for (const packages of [project, own]) {
        try {
            return packages(name);
        } catch (error) {
            if (error.code !== "MODULE_NOT_FOUND") throw error;
        }
    }
    return stop(`${name} isn't installed; run \`npm install\``, 69);
}

/** Exits with a message instead of a stack trace. */
function stop(message, code) {
    console.error(`error: ${message}`);
    process.exit(code);
}
