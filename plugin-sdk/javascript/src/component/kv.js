// `wasi:keyvalue`.

import * as atomics from "wasi:keyvalue/atomics@0.2.0-draft2";
import { open } from "wasi:keyvalue/store@0.2.0-draft2";

import { KvError } from "../errors.js";
import { payload } from "./payload.js";

export const kvGet = (key) => use((bucket) => bucket.get(key));
export const kvSet = (key, value) => use((bucket) => bucket.set(key, value));
export const kvDelete = (key) => use((bucket) => bucket.delete(key));
export const kvIncrement = (key, delta) => use((bucket) => atomics.increment(bucket, key, delta));
export const kvSnapshot = (key) => snapshot(use((bucket) => atomics.Cas.new(bucket, key)));

export function kvKeys() {
    const keys = [];
    let cursor;
    do {
        const page = use((bucket) => bucket.listKeys(cursor));
        keys.push(...page.keys);
        cursor = page.cursor ?? undefined;
    } while (cursor !== undefined);
    return keys;
}

function snapshot(cas) {
    return {
        current: () => use(() => cas.current()),
        /** Replaces the value. Returns a newer snapshot if it has changed. */
        swap(value) {
            try {
                atomics.swap(cas, value);
            } catch (error) {
                const found = payload(error);
                if (found?.tag === "cas-failed") return snapshot(found.val);
                throw kvError(found?.tag === "store-error" ? found.val : error);
            }
            return undefined;
        },
    };
}

function use(run) {
    try {
        return run(open("default"));
    } catch (error) {
        throw kvError(error);
    }
}

function kvError(error) {
    const { tag, val } = payload(error);
    if (tag === undefined) return error; // a bug
    // The contract has no error code for a full storage; the gateway's message names the limit.
    if (tag === "other") return new KvError(val.includes("limits.state") ? "full" : "other", val);
    return new KvError("not-granted", "state isn't granted; an operator can allow it");
}
