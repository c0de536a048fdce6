// What the plugin's modules find when they are loaded. The entry imports this file first.

import { getRandomBytes } from "wasi:random/random@0.2.12";

import { Promise, queueMicrotask } from "./promise.js";

globalThis.Promise = Promise;
globalThis.queueMicrotask = queueMicrotask;

// The seed of QuickJS is set when the component is built, so all instances would get the same numbers.
Math.random = () => {
    const bytes = getRandomBytes(7);
    let number = bytes[6] & 31;
    for (let index = 5; index >= 0; index -= 1) number = number * 256 + bytes[index];
    return number / 2 ** 53;
};
