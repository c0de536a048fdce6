// Stands in for the gateway where the plugin is tested without one: `node --import ./tests/gateway.mjs --test`.
// What the plugin imports from the contract is taken from fakes.mjs.

import { register } from "node:module";

const fakes = JSON.stringify(new URL("./fakes.mjs", import.meta.url).href);
const hooks = `export function resolve(name, context, next) {
    return name.startsWith("moongate:plugin/") ? { url: ${fakes}, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
