// The gateway in tests: each `#host/…` in Node. Calls of concurrent tests don't mix.

import { AsyncLocalStorage } from "node:async_hooks";
import * as fs from "node:fs";

import { FileError, HttpError, KvError } from "./errors.js";
import { utf8 } from "./utf8.js";

const LEVELS = ["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"];

const current = new AsyncLocalStorage();

/** Runs a function with this gateway. */
export const runWith = (gateway, run) => current.run(gateway, run);

function gateway() {
    const found = current.getStore();
    if (found) return found;
    throw new Error(
        "the gateway's functions only work during a call: use them inside of a tool, resource or prompt; in a test, call the " +
            "plugin with the `Client` of `moongate/testing`",
    );
}

// --- request ---

export const principal = () => gateway().principal;
export const client = () => gateway().client;
export const revision = () => gateway().revision;
export const capability = (name) => gateway().capabilities.some((one) => one === name || one.startsWith(`${name}.`));
export const metaValue = (key) => JSON.stringify(gateway().meta[key]);
export const answer = (key) => JSON.stringify(gateway().answered?.[key]);
export const state = () => gateway().roundState;
export const remainingMs = () => gateway().remaining && gateway().remaining * 1000;
export const cancelled = () => gateway().cancelled;

/** Remembers that the call asks, to find a discarded question. */
export function asking(requests) {
    gateway().asking = requests;
}

/** What `once` writes isn't repeated, so it doesn't count. */
export async function once(work) {
    const found = gateway();
    const before = found.writes;
    try {
        return await work();
    } finally {
        found.writes = before;
    }
}

// --- reports ---

export const logEnabled = (level) => LEVELS.indexOf(level) >= LEVELS.indexOf(gateway().logLevel);
export const logWrite = (level, logger, data) => gateway().logs.push({ level, logger, data: JSON.parse(data) });

export function reportProgress(progress, total, message) {
    const reports = gateway().progress;
    if (reports.length === 0 || progress > reports.at(-1).current) reports.push({ current: progress, total, message });
}

export const changed = (what, uri) => gateway().changes.push(uri ?? what);

// --- settings and environment ---

export const configGet = (key) => gateway().config[key];
export const configAll = () => Object.entries(gateway().config);
export const environment = () => Object.entries(gateway().env);

// --- state ---

function stored() {
    if (!gateway().stateGranted) throw new KvError("not-granted", "state isn't granted; an operator can allow it");
    return gateway().stored;
}

export const kvGet = (key) => stored().get(key);
export const kvKeys = () => [...stored().keys()];

export function kvSet(key, value) {
    gateway().writes += 1;
    stored().set(key, value);
}

export function kvDelete(key) {
    gateway().writes += 1;
    stored().delete(key);
}

export function kvIncrement(key, delta) {
    const sum = Number(utf8.decode(kvGet(key) ?? utf8.encode("0"))) + delta;
    kvSet(key, utf8.encode(String(sum)));
    return sum;
}

export function kvSnapshot(key) {
    return { current: () => kvGet(key), swap: (value) => kvSet(key, value) };
}

// --- HTTP ---

export function httpSend({ method, origin, path, headers, body = new Uint8Array(), maxBody }) {
    const found = gateway();
    if (method !== "GET" && method !== "HEAD") found.writes += 1;
    if (!found.pages) {
        const message = `the request ${method} ${origin} isn't granted; an operator can allow it`;
        throw new HttpError("not-granted", `${message} (in a test, set up servers with \`pages\`)`);
    }
    const url = origin + path;
    const request = { method, url, headers: Object.fromEntries(headers), body: utf8.decode(body) };
    found.requests.push(request);
    let page = found.pages[url] ?? found.pages[url.replace(/\/$/, "")] ?? { status: 404, body: `no page ${url} in the test` };
    if (typeof page === "function") page = page(request);
    if (typeof page === "string") page = { body: page };
    const content = page.json === undefined ? page.body ?? "" : JSON.stringify(page.json);
    const data = typeof content === "string" ? utf8.encode(content) : content;
    if (data.length > maxBody) {
        throw new HttpError("too-large", `the response from \`${origin}\` is larger than ${maxBody} bytes; to allow more, set \`maxBody\``);
    }
    return { status: page.status ?? 200, headers: Object.entries(page.headers ?? {}), body: data };
}

// --- files: real ones ---

const CODES = { ENOENT: ["no-entry", "No such file or directory"], EEXIST: ["exist", "File exists"] };

function file(path, run) {
    try {
        return run();
    } catch (error) {
        const [kind, reason] = CODES[error.code] ?? [error.code, error.message];
        throw new FileError(kind, `\`${path}\`: ${reason}`);
    }
}

const type = (found) =>
    found.isFile() ? "file" : found.isDirectory() ? "directory" : found.isSymbolicLink() ? "symlink" : "other";

export const readFile = (path) => file(path, () => new Uint8Array(fs.readFileSync(path)));
export const writeFile = (path, data) => file(path, () => fs.writeFileSync(path, data));
export const makeDirectory = (path) => file(path, () => fs.mkdirSync(path));
export const rename = (from, to) => file(from, () => fs.renameSync(from, to));
export const remove = (path) =>
    file(path, () => (fs.statSync(path).isDirectory() ? fs.rmdirSync(path) : fs.unlinkSync(path)));

export const readDirectory = (path) =>
    file(path, () => fs.readdirSync(path, { withFileTypes: true }).map((entry) => ({ name: entry.name, type: type(entry) })));

export function stat(path) {
    const found = file(path, () => fs.statSync(path));
    return { type: type(found), size: found.size };
}
