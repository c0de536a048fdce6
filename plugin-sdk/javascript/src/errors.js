// Errors of plugins.
//
// `ToolError` and its subclasses are failures that the model reads and can recover from. `ProtocolError` is for the client
// program. Any other exception is a bug: it ends the call, and the gateway logs the stack.

/** A failed call. A tool's result has `isError`, and the model reads the message. */
export class ToolError extends Error {
    get name() {
        return this.constructor.name;
    }
}

/** A JSON-RPC error for the client program; the model may never see it. Use the static methods. */
export class ProtocolError extends Error {
    constructor(tag, message, { at, data, code, capabilities } = {}) {
        super(message);
        Object.assign(this, { tag, at, data, code, capabilities });
    }

    get name() {
        return "ProtocolError";
    }

    /** The arguments are invalid (-32602). `at` is a JSON pointer such as `/city`. */
    static invalidParams(message, { at, data } = {}) {
        return new ProtocolError("invalid-params", message, { at, data });
    }

    /** There is no item with the requested name or URI. */
    static notFound(message, { data } = {}) {
        return new ProtocolError("not-found", message, { data });
    }

    /** An internal error that isn't the caller's fault (-32603). */
    static internal(message, { data } = {}) {
        return new ProtocolError("internal", message, { data });
    }

    /** An error with a custom code, outside of the ranges that JSON-RPC and MCP reserve. */
    static custom(code, message, { data } = {}) {
        return new ProtocolError("custom", message, { code, data });
    }

    /** The client doesn't support these capabilities, such as `sampling.tools` (-32021). */
    static missingCapability(...capabilities) {
        const message = `the client doesn't support ${capabilities.join(", ")}`;
        return new ProtocolError("missing-capability", message, { capabilities });
    }
}

/** An error with a kind for programs. */
class KindError extends ToolError {
    constructor(kind, message, more) {
        super(message);
        this.kind = kind;
        Object.assign(this, more);
    }
}

/** A setting is missing or invalid. */
export class ConfigError extends ToolError {}

/** A value can't be read or stored. `kind` is `not-granted`, `full`, `contended`, `form` or `other`. */
export class KvError extends KindError {}

/** A request failed. `kind` is `not-granted`, `private-address`, `dns`, `connect`, `tls`, `timeout`, … */
export class HttpError extends KindError {}

/** A file can't be used. `kind` is the code of WASI, such as `no-entry`. */
export class FileError extends KindError {}
