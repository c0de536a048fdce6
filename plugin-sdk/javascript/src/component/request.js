// The contract's interface `request`.

export { answer, cancelled, capability, client, metaValue, principal, remainingMs, revision, state } from "moongate:plugin/request@0.1.0";

// Only tests check these.
export const asking = undefined;
export const once = undefined;
