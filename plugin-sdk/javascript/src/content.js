// Content of results, prompts and resources, in MCP's form. Data is bytes, and the gateway encodes it as base64.

import { utf8 } from "./utf8.js";

/** A tool's result: content for the model, structured content for programs, or both. */
export class Result {
    constructor({ content = [], structured, isError = false, meta } = {}) {
        Object.assign(this, { content: blocks(content), structured, isError, meta });
        if (structured !== undefined && this.content.length === 0) this.content = blocks(JSON.stringify(structured));
    }
}

/** The data of a resource, and how long it can be cached, in seconds. */
export class ReadResult {
    constructor(contents, { ttl, shareable, meta } = {}) {
        Object.assign(this, { contents: [contents].flat(), ttl, shareable, meta });
    }
}

/** Suggestions for an argument, the best one first. */
export class Completion {
    constructor(values, { total, hasMore } = {}) {
        Object.assign(this, { values, total, hasMore });
    }
}

/** A text block. `options` are `annotations` and `meta`. */
export const text = (text, options) => ({ type: "text", text, ...options });

/** An image: its bytes and their media type. */
export const image = (data, mimeType, options) => ({ type: "image", data, mimeType, ...options });

/** Audio: its bytes and their media type. */
export const audio = (data, mimeType, options) => ({ type: "audio", data, mimeType, ...options });

/** A resource that the host can read later. Use it for large data. */
export const link = (uri, name, options) => ({ type: "resource_link", uri, name, ...options });

/** A resource with its data: `{ uri, text or data, mimeType }`. */
export const embedded = (resource, options) => ({ type: "resource", resource, ...options });

/** A message of a prompt. `role` is `user` or `assistant`. */
export const message = (role, content) => ({ role, content: blocks(content)[0] });

/** The content as a list of blocks. */
export function blocks(content) {
    return [content].flat().map((block) => (typeof block === "string" ? text(block) : block));
}

/** True for a block of content. Another object is data, even if it has a `type`. */
export function isBlock(value) {
    return ["text", "image", "audio", "resource_link", "resource"].includes(value?.type);
}

/** A block as JSON, for messages to the client's model. */
export function toJson(block) {
    return block.data instanceof Uint8Array ? { ...block, data: base64(block.data) } : block;
}

/** A block from JSON, with data as bytes. */
export function fromJson(block) {
    const hasData = (block.type === "image" || block.type === "audio") && typeof block.data === "string";
    return hasData ? { ...block, data: Uint8Array.from(atob(block.data), (char) => char.charCodeAt(0)) } : block;
}

/** Bytes of text or of bytes. */
export const bytes = (data) => (typeof data === "string" ? utf8.encode(data) : new Uint8Array(data));

function base64(data) {
    let binary = "";
    for (const byte of data) binary += String.fromCharCode(byte);
    return btoa(binary);
}
