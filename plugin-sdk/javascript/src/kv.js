// State: values that outlive a call, under string keys. The operator grants it with `allow.state = true`.
// Values are anything that JSON can represent; functions with `Bytes` store bytes as they are. All errors are `KvError`.

import { kvDelete, kvGet, kvIncrement, kvKeys, kvSet, kvSnapshot } from "#host/kv";
import { KvError } from "./errors.js";
import { utf8 } from "./utf8.js";

const MAX_UPDATE_ATTEMPTS = 64;

/** The value of `key`, if there is one. */
export function get(key) {
    const data = getBytes(key);
    return data && parse(key, data);
}

/** Like `get`, for bytes. */
export const getBytes = (key) => kvGet(key) ?? undefined;

/** Stores `value` under `key`, replacing the current value. */
export const set = (key, value) => kvSet(key, write(key, value));

/** Like `set`, for bytes. */
export const setBytes = (key, value) => kvSet(key, value);

/** Removes `key`. Succeeds if it doesn't exist. */
const remove = (key) => kvDelete(key);
export { remove as delete };

/** True if there is a value under `key`. */
export const exists = (key) => getBytes(key) !== undefined;

/** All keys, in no particular order. */
export const keys = () => kvKeys();

/** Adds `delta` to the integer under `key` atomically, and returns the sum. A missing key counts as 0. */
export const increment = (key, delta = 1) => kvIncrement(key, delta);

/**
 * Replaces the value of `key` with the result of `change` atomically, and returns the new value. If another call changes the
 * key in the meantime, `change` is called again with the current value. An exception leaves the key unchanged.
 */
export function update(key, change) {
    let snapshot = kvSnapshot(key);
    for (let attempt = 0; attempt < MAX_UPDATE_ATTEMPTS; attempt += 1) {
        const data = snapshot.current() ?? undefined;
        const value = change(data && parse(key, data));
        snapshot = snapshot.swap(write(key, value));
        if (!snapshot) return value;
    }
    throw new KvError("contended", `too many concurrent changes to \`${key}\`; try again`);
}

function parse(key, data) {
    try {
        return JSON.parse(utf8.decode(data));
    } catch (error) {
        throw new KvError("form", `invalid value under \`${key}\`: ${error.message}`);
    }
}

function write(key, value) {
    const json = value instanceof Promise ? undefined : JSON.stringify(value);
    if (json === undefined) throw new KvError("form", `invalid value under \`${key}\`: JSON can't represent it`);
    return utf8.encode(json);
}
