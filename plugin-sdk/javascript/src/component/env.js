// `wasi:cli/environment`.

export { getEnvironment as environment } from "wasi:cli/environment@0.2.12";
