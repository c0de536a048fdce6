// Parts of components that don't need the gateway: promises, UTF-8.

import assert from "node:assert/strict";
import { test } from "node:test";

import { Promise as Local, settle, setTimeout as later } from "../src/component/promise.js";
import { utf8 } from "../src/utf8.js";

const NativePromise = globalThis.Promise;

/** Runs a promise to its end, as a component does. */
function run(make) {
    globalThis.Promise = Local;
    try {
        return settle(make(), () => {});
    } finally {
        globalThis.Promise = NativePromise;
    }
}

test("promises are settled synchronously", () => {
    const one = () => new Local((resolve) => later(() => resolve(1), 5));
    assert.equal(run(() => one().then((value) => Local.resolve(value + 1))), 2);
    assert.deepEqual(run(() => Local.all([one(), 2, Local.resolve(3)])), [1, 2, 3]);
    assert.deepEqual(run(() => Local.all([])), []);
    assert.equal(run(() => Local.race([one(), Local.resolve(2)])), 2);
    assert.equal(run(() => Local.any([Local.reject(1), Local.resolve(2)])), 2);
    assert.deepEqual(run(() => Local.allSettled([Local.reject(1), 2])), [{ status: "rejected", reason: 1 }, { status: "fulfilled", value: 2 }]);
    assert.equal(run(() => Local.reject(new Error("no")).catch(({ message }) => message).finally(() => 5)), "no");
    assert.equal(run(() => Local.withResolvers().promise.constructor === Local && Local.resolve({ then: (done) => done(7) })), 7);
    assert.throws(() => run(() => Local.reject(new RangeError("x"))), RangeError);
    assert.throws(() => run(() => Local.any([Local.reject(1)])), AggregateError);
    assert.throws(() => run(() => new Local(() => {})), /nothing settles/);
});

test("timers run in order, unless they are cleared", () => {
    const order = [];
    run(() => new Local((resolve) => {
        later(() => order.push("late"), 20);
        later(() => order.push("early"), 1);
        later(resolve, 30);
    }));
    assert.deepEqual(order, ["early", "late"]);
});

test("UTF-8 is that of the platform", () => {
    for (const text of ["", "naïve", "東京 👋", "a".repeat(20_000), "\ud800x"]) {
        assert.deepEqual(utf8.encode(text), new TextEncoder().encode(text));
        assert.equal(utf8.decode(utf8.encode(text)), new TextDecoder().decode(new TextEncoder().encode(text)));
    }
    assert.equal(utf8.decode(new Uint8Array([65, 0xff, 0xc3, 65])), "A\ufffd\ufffdA");
});
