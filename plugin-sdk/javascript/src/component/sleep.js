// Waiting for timers.

import { subscribeDuration } from "wasi:clocks/monotonic-clock@0.2.12";

/** Blocks for this many milliseconds. */
export function sleep(milliseconds) {
    if (milliseconds <= 0) return;
    const pollable = subscribeDuration(Math.ceil(milliseconds * 1e6));
    pollable.block();
    pollable[Symbol.dispose]?.();
}
