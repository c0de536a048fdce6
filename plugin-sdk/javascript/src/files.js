// Files in directories that the operator grants with `allow.dirs`. All errors are `FileError`.

import * as host from "#host/files";
import { bytes } from "./content.js";
import { utf8 } from "./utf8.js";

/** The content of a file. */
export const read = (path) => host.readFile(path);

/** The content of a file as text. */
export const readText = (path) => utf8.decode(host.readFile(path));

/** Writes a file, text or bytes, replacing its content. */
export const write = (path, data) => host.writeFile(path, bytes(data));

/** The entries of a directory: `{ name, type }`, where `type` is `file`, `directory`, `symlink` or `other`. */
export const list = (path) => host.readDirectory(path);

/** The type and size in bytes of a file: `{ type, size }`. */
export const stat = (path) => host.stat(path);

/** True if there is a file or directory. */
export function exists(path) {
    try {
        host.stat(path);
        return true;
    } catch (error) {
        if (error.kind === "no-entry") return false;
        throw error;
    }
}

/** Creates a directory. */
export const makeDirectory = (path) => host.makeDirectory(path);

/** Removes a file, or an empty directory. */
export const remove = (path) => host.remove(path);

/** Renames a file or directory, replacing a file. */
export const rename = (from, to) => host.rename(from, to);
