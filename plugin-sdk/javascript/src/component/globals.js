// Globals that QuickJS doesn't have. The build adds those that a plugin uses.

import { getStderr } from "wasi:cli/stderr@0.2.12";
import { getRandomBytes } from "wasi:random/random@0.2.12";

import URL from "core-js-pure/full/url";
import URLSearchParams from "core-js-pure/full/url-search-params";
import structuredClone from "core-js-pure/full/structured-clone";

import { utf8 } from "../utf8.js";

export { fetch, Headers, Request, Response } from "../http.js";
export { clearTimeout, setTimeout } from "./promise.js";
export { structuredClone, URL, URLSearchParams };

export class TextEncoder {
    encoding = "utf-8";
    encode(text = "") {
        return utf8.encode(text);
    }
}

export class TextDecoder {
    encoding = "utf-8";
    constructor(label = "utf-8") {
        if (!/^utf-?8$/i.test(label)) throw new RangeError(`unsupported encoding \`${label}\`: only UTF-8 is available`);
    }
    decode(data = new Uint8Array()) {
        return utf8.decode(ArrayBuffer.isView(data) ? new Uint8Array(data.buffer, data.byteOffset, data.byteLength) : new Uint8Array(data));
    }
}

export const crypto = {
    getRandomValues(array) {
        new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(getRandomBytes(array.byteLength));
        return array;
    },
    randomUUID() {
        const bytes = Uint8Array.from(getRandomBytes(16));
        bytes[6] = (bytes[6] & 15) | 64;
        bytes[8] = (bytes[8] & 63) | 128;
        const hex = [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
        return hex.replace(/^(.{8})(.{4})(.{4})(.{4})/, "$1-$2-$3-$4-");
    },
};

function print(...values) {
    const shown = values.map((value) => {
        if (typeof value === "string") return value;
        if (value instanceof Error) return `${value}\n${value.stack}`;
        try {
            return JSON.stringify(value) ?? String(value);
        } catch {
            return String(value);
        }
    });
    const data = utf8.encode(`${shown.join(" ")}\n`);
    const stderr = getStderr();
    for (let at = 0; at < data.length; at += 4096) stderr.blockingWriteAndFlush(data.subarray(at, at + 4096));
}

/** Writes to the gateway's log. */
export const console = { log: print, info: print, debug: print, warn: print, error: print, trace: print };
