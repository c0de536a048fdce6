// Write Moongate plugins in JavaScript and TypeScript.
//
// A plugin is a module whose default export is a `Plugin`. In a component, `#host/…` are the contract's imports; in tests,
// they are the fake of `moongate/testing`.

export * as changes from "./changes.js";
export * as config from "./config.js";
export * as env from "./env.js";
export * as files from "./files.js";
export * as kv from "./kv.js";
export * as log from "./log.js";
export * as progress from "./progress.js";

export { audio, Completion, embedded, image, link, message, ReadResult, Result, text } from "./content.js";
export { ConfigError, FileError, HttpError, KvError, ProtocolError, ToolError } from "./errors.js";
export { Plugin } from "./plugin.js";
export { form, page, roots, sampling } from "./questions.js";
export { s } from "./schema.js";
