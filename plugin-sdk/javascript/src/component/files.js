// `wasi:filesystem`, with paths as in other languages.

import { getDirectories } from "wasi:filesystem/preopens@0.2.12";

import { FileError } from "../errors.js";
import { payload } from "./payload.js";

const CHUNK = 64 * 1024;

// Messages of the C library for codes of WASI, as Rust and Python show them.
const REASONS = {
    "no-entry": "No such file or directory", exist: "File exists", access: "Permission denied", "not-permitted": "Operation not permitted",
    "read-only": "Read-only file system", "is-directory": "Is a directory", "not-directory": "Not a directory",
    "not-empty": "Directory not empty", quota: "Quota exceeded", "insufficient-space": "No space left on device",
};

const TYPES = { "regular-file": "file", directory: "directory", "symbolic-link": "symlink" };
const type = (found) => TYPES[found?.tag ?? found] ?? "other";

/** Runs a function with the granted directory that contains the path, and the path in it. */
function at(path, run) {
    const wanted = normal(path);
    let best;
    for (const [directory, guest] of getDirectories()) {
        const root = normal(guest);
        const inside = wanted === root || root === "/" || wanted.startsWith(`${root}/`);
        if (inside && (!best || root.length > best.root.length)) best = { directory, root };
    }
    try {
        if (!best) throw "no-entry";
        return run(best.directory, wanted.slice(best.root === "/" ? 1 : best.root.length + 1) || ".");
    } catch (error) {
        const found = payload(error);
        const code = typeof found === "string" ? found : found?.tag;
        if (error instanceof Error && typeof code !== "string") throw error;
        throw new FileError(code, `\`${path}\`: ${REASONS[code] ?? String(code).replaceAll("-", " ")}`);
    }
}

function normal(path) {
    const parts = [];
    for (const part of String(path).split("/")) {
        if (part === "..") parts.pop();
        else if (part && part !== ".") parts.push(part);
    }
    return `/${parts.join("/")}`;
}

const FOLLOW = { symlinkFollow: true };

export function readFile(path) {
    return at(path, (directory, name) => {
        const file = directory.openAt(FOLLOW, name, {}, { read: true });
        const parts = [];
        for (let offset = 0; ; ) {
            const [part, end] = file.read(CHUNK, offset);
            parts.push(part);
            offset += part.length;
            if (end || part.length === 0) break;
        }
        file[Symbol.dispose]?.();
        const data = new Uint8Array(parts.reduce((size, part) => size + part.length, 0));
        let start = 0;
        for (const part of parts) {
            data.set(part, start);
            start += part.length;
        }
        return data;
    });
}

export function writeFile(path, data) {
    at(path, (directory, name) => {
        const file = directory.openAt(FOLLOW, name, { create: true, truncate: true }, { write: true });
        for (let offset = 0; offset < data.length; ) {
            offset += Number(file.write(data.subarray(offset, offset + CHUNK), offset));
        }
        file[Symbol.dispose]?.();
    });
}

export function readDirectory(path) {
    return at(path, (directory, name) => {
        const opened = directory.openAt(FOLLOW, name, { directory: true }, { read: true });
        const stream = opened.readDirectory();
        const entries = [];
        for (let entry = stream.readDirectoryEntry(); entry; entry = stream.readDirectoryEntry()) {
            entries.push({ name: entry.name, type: type(entry.type) });
        }
        stream[Symbol.dispose]?.();
        opened[Symbol.dispose]?.();
        return entries;
    });
}

export function stat(path) {
    return at(path, (directory, name) => {
        const found = directory.statAt(FOLLOW, name);
        return { type: type(found.type), size: found.size };
    });
}

export const makeDirectory = (path) => at(path, (directory, name) => directory.createDirectoryAt(name));

export const remove = (path) =>
    at(path, (directory, name) => {
        const isDirectory = type(directory.statAt({}, name).type) === "directory";
        return isDirectory ? directory.removeDirectoryAt(name) : directory.unlinkFileAt(name);
    });

export const rename = (from, to) =>
    at(from, (directory, name) => at(to, (target, renamed) => directory.renameAt(name, target, renamed)));
