// The plugin's settings: the table `[plugins.<name>.config]` of `gateway.toml`.

import { configAll, configGet } from "#host/config";
import { ConfigError } from "./errors.js";
import { mismatch } from "./schema.js";

const TABLE = "`[plugins.<name>.config]` of `gateway.toml`";

/** The setting `key` as a string, if it is set. Values that aren't strings are JSON. */
export const get = (key) => configGet(key) ?? undefined;

/** The setting `key` as a string. Throws `ConfigError` if it isn't set. */
export function required(key) {
    const value = get(key);
    if (value === undefined) throw new ConfigError(`missing \`${key}\` in ${TABLE}`);
    return value;
}

/** All settings as strings. */
export const all = () => Object.fromEntries(configAll());

/** The settings with these schemas, such as `{ days: s.integer().default(3) }`. */
export function typed(members) {
    const texts = all();
    const settings = {};
    for (const [key, { json, isOptional }] of Object.entries(members)) {
        if (texts[key] === undefined) {
            if (!isOptional) throw new ConfigError(`missing \`${key}\` in ${TABLE}`);
            if (json.default !== undefined) settings[key] = json.default;
            continue;
        }
        settings[key] = parse(texts[key], json);
        const expected = [json.type ?? "any value"].flat().join(" or ");
        const problem = mismatch(json, settings[key]);
        if (problem) {
            const wanted = json.enum ? problem.replace(/^.*? must be /, "") : expected;
            throw new ConfigError(`invalid \`${key}\` in ${TABLE}: expected ${wanted}`);
        }
    }
    return settings;
}

function parse(text, json) {
    if (json.type === "string") return text;
    try {
        return JSON.parse(text);
    } catch {
        return text;
    }
}
