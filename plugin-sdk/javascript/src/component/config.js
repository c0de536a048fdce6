// `wasi:config/store`.

import { get, getAll } from "wasi:config/store@0.2.0-rc.1";

import { ConfigError } from "../errors.js";
import { payload } from "./payload.js";

export const configGet = (key) => read(() => get(key));
export const configAll = () => read(() => getAll());

function read(run) {
    try {
        return run();
    } catch (error) {
        throw new ConfigError(`cannot read the configuration: ${payload(error).val ?? error}`);
    }
}
