// A promise whose jobs run when this library says so.
//
// The contract's functions are synchronous, and QuickJS runs the jobs of its own promises only after such a function has
// returned. The build turns `async` functions into generators that use the global `Promise`, so that replacing it is enough.

const jobs = [];
const timers = [];
let nextTimer = 1;

/** Adds a job. */
export const queueMicrotask = (job) => void jobs.push(job);

/** Calls a function after a time in milliseconds. Timers of a call end with it. */
export function setTimeout(run, milliseconds = 0, ...args) {
    const id = nextTimer++;
    timers.push({ id, at: Date.now() + Math.max(0, Number(milliseconds) || 0), run: () => run(...args) });
    return id;
}

export function clearTimeout(id) {
    const index = timers.findIndex((timer) => timer.id === id);
    if (index >= 0) timers.splice(index, 1);
}

/** Runs jobs and timers until the promise is settled; returns its value or throws its reason. */
export function settle(promise, sleep) {
    let outcome;
    Promise.resolve(promise).then(
        (value) => (outcome = { value }),
        (reason) => (outcome = { reason, failed: true }),
    );
    try {
        while (!outcome) {
            const job = jobs.shift();
            if (job) {
                job();
                continue;
            }
            timers.sort((one, other) => one.at - other.at);
            const timer = timers.shift();
            if (!timer) throw new Error("the function waits for a promise that nothing settles");
            sleep(timer.at - Date.now());
            timer.run();
        }
    } finally {
        jobs.length = 0;
        timers.length = 0;
    }
    if (outcome.failed) throw outcome.reason;
    return outcome.value;
}

export class Promise {
    #state = "pending";
    #value;
    #waiting = [];

    constructor(executor) {
        let done = false;
        const settle = (state, value) => {
            this.#state = state;
            this.#value = value;
            for (const wake of this.#waiting.splice(0)) queueMicrotask(wake);
        };
        const reject = (reason) => {
            if (done) return;
            done = true;
            settle("rejected", reason);
        };
        const resolve = (value) => {
            if (done) return;
            done = true;
            if (value === this) return settle("rejected", new TypeError("a promise can't resolve to itself"));
            let then;
            try {
                then = (typeof value === "object" && value !== null) || typeof value === "function" ? value.then : undefined;
            } catch (error) {
                return settle("rejected", error);
            }
            if (typeof then !== "function") return settle("fulfilled", value);
            queueMicrotask(() => {
                let called = false;
                const once = (run) => (result) => {
                    if (called) return;
                    called = true;
                    done = false;
                    run(result);
                };
                try {
                    then.call(value, once(resolve), once(reject));
                } catch (error) {
                    once(reject)(error);
                }
            });
        };
        try {
            executor(resolve, reject);
        } catch (error) {
            reject(error);
        }
    }

    then(onFulfilled, onRejected) {
        return new Promise((resolve, reject) => {
            const wake = () => {
                const handler = this.#state === "fulfilled" ? onFulfilled : onRejected;
                if (typeof handler !== "function") {
                    return this.#state === "fulfilled" ? resolve(this.#value) : reject(this.#value);
                }
                try {
                    resolve(handler(this.#value));
                } catch (error) {
                    reject(error);
                }
            };
            if (this.#state === "pending") this.#waiting.push(wake);
            else queueMicrotask(wake);
        });
    }

    catch(onRejected) {
        return this.then(undefined, onRejected);
    }

    finally(run) {
        return this.then(
            (value) => Promise.resolve(run?.()).then(() => value),
            (reason) =>
                Promise.resolve(run?.()).then(() => {
                    throw reason;
                }),
        );
    }

    get [Symbol.toStringTag]() {
        return "Promise";
    }

    static resolve(value) {
        return value instanceof Promise ? value : new Promise((resolve) => resolve(value));
    }

    static reject(reason) {
        return new Promise((_, reject) => reject(reason));
    }

    static withResolvers() {
        const found = {};
        found.promise = new Promise((resolve, reject) => Object.assign(found, { resolve, reject }));
        return found;
    }

    static all(values) {
        return collect(values, (promise, set, _, reject) => promise.then(set, reject));
    }

    static allSettled(values) {
        return collect(values, (promise, set) =>
            promise.then(
                (value) => set({ status: "fulfilled", value }),
                (reason) => set({ status: "rejected", reason }),
            ),
        );
    }

    static any(values) {
        const reasons = collect(values, (promise, set, resolve) => promise.then((value) => resolve({ value }), set));
        return reasons.then((found) => {
            if ("value" in found) return found.value;
            throw new AggregateError(found, "all promises were rejected");
        });
    }

    static race(values) {
        return new Promise((resolve, reject) => {
            for (const value of values) Promise.resolve(value).then(resolve, reject);
        });
    }
}

function collect(values, wait) {
    return new Promise((resolve, reject) => {
        const results = [];
        let open = 1;
        const finish = () => --open === 0 && resolve(results);
        for (const [index, value] of [...values].entries()) {
            open += 1;
            const set = (result) => {
                results[index] = result;
                finish();
            };
            wait(Promise.resolve(value), set, resolve, reject);
        }
        finish();
    });
}
