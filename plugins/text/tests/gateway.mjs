// Replaces the gateway in tests: `node --import ./tests/gateway.mjs --test`.
// Imports from the contract are resolved to fakes.mjs.

import { register } from "node:module";

const fakes = JSON.stringify(new URL("./fakes.mjs", import.meta.url).href);
const hooks = `export function resolve(name, context, next) {
    return name.startsWith("moongate:plugin/") ? { url: ${fakes}, shortCircuit: true } : next(name, context);
}`;
register(`data:text/javascript,${encodeURIComponent(hooks)}`);
