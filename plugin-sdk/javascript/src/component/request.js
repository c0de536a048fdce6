// The contract's interface `request`.

import * as request from "moongate:plugin/request@0.1.0";

export { cancelled, capability, client, metaValue, principal, remainingMs, revision, state } from "moongate:plugin/request@0.1.0";

/** Missing in the contract of a plugin that asks nothing. */
export const answer = (key) => request.answer(key);

// Only tests check these.
export const asking = undefined;
export const once = undefined;
