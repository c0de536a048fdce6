/** A JSON Schema with the type of its values. */
export interface Schema<T> {
    readonly json: Record<string, unknown>;
    /** The value's type; only for the compiler. */
    readonly __type?: T;
    readonly isOptional: boolean;
    /** The member can be left out. */
    optional(): OptionalSchema<T>;
    /** The member can be left out, and then has this value. */
    default(value: T): DefaultSchema<T>;
    /** The value can be `null`. */
    nullable(): Schema<T | null>;
    /** Sets the description. */
    describe(description: string): this;
}
export interface OptionalSchema<T> extends Schema<T> {
    readonly isOptional: true;
    readonly __optional: true;
}
export interface DefaultSchema<T> extends Schema<T> {
    readonly isOptional: true;
}

/** Schemas by name: the arguments of a tool, the fields of a form, the settings of a plugin. */
export type Members = Record<string, Schema<any>>;
/** The values for schemas by name. */
export type Values<M extends Members> = {
    [K in keyof M as M[K] extends OptionalSchema<any> ? never : K]: M[K] extends Schema<infer T> ? T : never;
} & { [K in keyof M as M[K] extends OptionalSchema<any> ? K : never]?: M[K] extends Schema<infer T> ? T : never };

/** A description, or keywords of JSON Schema. */
export type Options = string | Record<string, unknown>;

/** Builds schemas: `s.string("The city.")`, `s.integer({ minimum: 1 }).default(3)`. */
export declare const s: {
    string(options?: Options): Schema<string>;
    number(options?: Options): Schema<number>;
    integer(options?: Options): Schema<number>;
    boolean(options?: Options): Schema<boolean>;
    any(options?: Options): Schema<any>;
    enum<const T extends readonly (string | number)[]>(values: T, options?: Options): Schema<T[number]>;
    array<T>(items: Schema<T>, options?: Options): Schema<T[]>;
    object<M extends Members>(members: M, options?: Options): Schema<Values<M>>;
    record<T>(values: Schema<T>, options?: Options): Schema<Record<string, T>>;
    union<T extends readonly Schema<any>[]>(schemas: T, options?: Options): Schema<T[number] extends Schema<infer V> ? V : never>;
    json<T = any>(json: Record<string, unknown>): Schema<T>;
};

export type Role = "user" | "assistant";
export interface Annotations {
    audience?: Role[];
    /** From 0 (optional) to 1 (required). */
    priority?: number;
    /** An ISO 8601 time. */
    lastModified?: string;
}
export interface Icon {
    src: string;
    mimeType?: string;
    sizes?: string[];
    theme?: "light" | "dark";
}
export interface BlockOptions {
    annotations?: Annotations;
    meta?: Record<string, unknown>;
}
/** The data of a resource: text or bytes. */
export interface Contents {
    uri: string;
    mimeType?: string;
    text?: string;
    data?: Uint8Array;
    meta?: Record<string, unknown>;
}
export type Block = BlockOptions &
    (
        | { type: "text"; text: string }
        | { type: "image" | "audio"; data: Uint8Array; mimeType: string }
        | { type: "resource_link"; uri: string; name: string; title?: string; description?: string; mimeType?: string; size?: number; icons?: Icon[] }
        | { type: "resource"; resource: Contents }
    );
export type Content = string | Block | (string | Block)[];

export declare function text(text: string, options?: BlockOptions): Block;
export declare function image(data: Uint8Array, mimeType: string, options?: BlockOptions): Block;
export declare function audio(data: Uint8Array, mimeType: string, options?: BlockOptions): Block;
export declare function link(uri: string, name: string, options?: BlockOptions & { title?: string; description?: string; mimeType?: string; size?: number; icons?: Icon[] }): Block;
export declare function embedded(resource: Contents, options?: BlockOptions): Block;
export interface Message {
    role: Role;
    content: Block;
}
export declare function message(role: Role, content: string | Block): Message;

/** A tool's result: content for the model, structured content for programs, or both. */
export declare class Result {
    readonly content: Block[];
    readonly structured?: unknown;
    readonly isError: boolean;
    constructor(result?: { content?: Content; structured?: unknown; isError?: boolean; meta?: Record<string, unknown> });
}
/** The data of a resource, and how long it can be cached, in seconds. */
export declare class ReadResult {
    readonly contents: Contents[];
    constructor(contents: Contents | Contents[], options?: { ttl?: number; shareable?: boolean; meta?: Record<string, unknown> });
}
/** Suggestions for an argument, the best one first. */
export declare class Completion {
    readonly values: string[];
    constructor(values: string[], options?: { total?: number; hasMore?: boolean });
}

/** A failed call. A tool's result has `isError`, and the model reads the message. */
export declare class ToolError extends Error {}
/** A JSON-RPC error for the client program; the model may never see it. */
export declare class ProtocolError extends Error {
    readonly tag: string;
    readonly at?: string;
    readonly data?: unknown;
    static invalidParams(message: string, options?: { at?: string; data?: unknown }): ProtocolError;
    static notFound(message: string, options?: { data?: unknown }): ProtocolError;
    static internal(message: string, options?: { data?: unknown }): ProtocolError;
    static custom(code: number, message: string, options?: { data?: unknown }): ProtocolError;
    static missingCapability(...capabilities: string[]): ProtocolError;
}
export declare class ConfigError extends ToolError {}
export declare class KvError extends ToolError {
    readonly kind: "not-granted" | "full" | "contended" | "form" | "other";
}
export declare class HttpError extends ToolError {
    readonly kind: string;
}
export declare class FileError extends ToolError {
    readonly kind: string;
}

export interface Question<T> {
    readonly method: string;
    readonly params: Record<string, unknown>;
    read(answer: unknown): T;
}
export interface Decision<T> {
    action: "accept" | "decline" | "cancel";
    value?: T;
}
/** Asks the user to fill in a form with these fields. */
export declare function form<M extends Members>(message: string, fields: M): Question<Values<M>>;
export declare function form<M extends Members>(message: string, fields: M, options: { mayDecline: true }): Question<Decision<Values<M>>>;
/** Asks the user to open a page, for example to log in. */
export declare function page(message: string, url: string): Question<void>;
export declare function page(message: string, url: string, options: { mayDecline: true }): Question<Decision<void>>;
export interface Sampled {
    role: Role;
    content: Block[];
    model: string;
    stopReason?: string;
    /** The text of all text blocks. */
    text: string;
}
/** Asks the client's model. */
export declare function sampling(messages: string | { role: Role; content: string | Block }[], options: { maxTokens: number; [option: string]: unknown }): Question<Sampled>;
/** Asks the client for its workspace directories. */
export declare function roots(): Question<{ uri: string; name?: string }[]>;

/** The call in progress. */
export interface Context {
    readonly principal?: string;
    readonly client?: { name: string; version: string; title?: string };
    readonly revision?: string;
    readonly cancelled: boolean;
    /** The time in seconds until the gateway ends the call. */
    readonly remaining?: number;
    capability(name: string): boolean;
    meta(key: string): any;
    /** Asks the client. The first time, the function ends here, and starts again from the top with the answer. */
    ask<T>(key: string, question: Question<T>): T;
    askAll<Q extends Record<string, Question<any>>>(questions: Q): { [K in keyof Q]: Q[K] extends Question<infer T> ? T : never };
    /** Runs `work` once for the whole call, even if it starts again to ask something. */
    once<T>(key: string, work: () => T | Promise<T>): Promise<T>;
}

type MaybePromise<T> = T | Promise<T>;
type Shown = { title?: string; description?: string; icons?: Icon[]; meta?: Record<string, unknown> };
type JsonSchema = { type: string; [keyword: string]: unknown };
type ArgumentsOf<I> = I extends Members ? Values<I> : I extends Schema<infer T> ? T : any;

export interface ToolOptions<I, O> extends Shown {
    /** The arguments: schemas by name, or a JSON Schema that you write yourself. */
    input?: I;
    /** The structured result: schemas by name, a schema, or a JSON Schema that you write yourself. */
    output?: O;
    /** The tool changes nothing. */
    readOnly?: boolean;
    /** The tool can delete or overwrite something. Hosts assume this by default. */
    destructive?: boolean;
    /** Repeating a call has no further effect. */
    idempotent?: boolean;
    /** The tool deals with things outside a closed set, such as the web. */
    openWorld?: boolean;
    /** Decides whether the tool is listed. */
    when?: () => boolean;
}

export declare class Plugin {
    constructor(options: {
        name: string;
        version: string;
        title?: string;
        description?: string;
        /** Advice for the model, if the operator allows it. */
        instructions?: string;
        websiteUrl?: string;
        icons?: Icon[];
        /** The settings. The gateway checks them when it loads the plugin. */
        config?: Members | JsonSchema;
    });
    tool<I extends Members | Schema<any> | JsonSchema = {}, O extends Members | Schema<any> | JsonSchema | undefined = undefined>(
        name: string,
        options: ToolOptions<I, O>,
        run: (args: ArgumentsOf<I>, context: Context) => MaybePromise<O extends undefined ? unknown : ArgumentsOf<O> | Result>,
    ): this;
    resource(
        uri: string,
        options: Shown & { name?: string; mimeType?: string; size?: number },
        run: (variables: Record<string, string> & { uri: string }, context: Context) => MaybePromise<unknown>,
    ): this;
    prompt<A extends string = never>(
        name: string,
        options: Shown & { args?: Record<A, string | { title?: string; description?: string; required?: boolean }> },
        run: (args: Record<A, string>, context: Context) => MaybePromise<string | Block | Message | (string | Block | Message)[]>,
    ): this;
    complete(
        target: { prompt?: string; resource?: string; argument: string },
        run: (typed: string, others: Record<string, string>) => MaybePromise<string[] | Completion>,
    ): this;
}

export type Level = "debug" | "info" | "notice" | "warning" | "error" | "critical" | "alert" | "emergency";
type Log = (data: unknown, options?: { logger?: string }) => void;
export declare namespace log {
    function enabled(level: Level): boolean;
    function write(level: Level, data: unknown, options?: { logger?: string }): void;
    const debug: Log, info: Log, notice: Log, warning: Log, error: Log;
}
export declare namespace progress {
    /** Reports `current` of `total`. `current` must increase with each report. */
    function report(current: number, total?: number, message?: string): void;
}
export declare namespace changes {
    function tools(): void;
    function resources(): void;
    function prompts(): void;
    function resource(uri: string): void;
}
export declare namespace config {
    function get(key: string): string | undefined;
    function required(key: string): string;
    function all(): Record<string, string>;
    function typed<M extends Members>(members: M): Values<M>;
}
export declare namespace env {
    function get(name: string): string | undefined;
}
export declare namespace kv {
    export function get<T = any>(key: string): T | undefined;
    export function getBytes(key: string): Uint8Array | undefined;
    export function set(key: string, value: unknown): void;
    export function setBytes(key: string, value: Uint8Array): void;
    export function exists(key: string): boolean;
    export function keys(): string[];
    /** Adds to an integer atomically, and returns the sum. */
    export function increment(key: string, delta?: number): number;
    /** Replaces a value atomically, and returns the new one. */
    export function update<T = any>(key: string, change: (old: T | undefined) => T): T;
    export function remove(key: string): void;
    export { remove as delete };
}
export declare namespace files {
    type FileType = "file" | "directory" | "symlink" | "other";
    function read(path: string): Uint8Array;
    function readText(path: string): string;
    function write(path: string, data: string | Uint8Array): void;
    function list(path: string): { name: string; type: FileType }[];
    function stat(path: string): { type: FileType; size: number };
    function exists(path: string): boolean;
    function makeDirectory(path: string): void;
    function remove(path: string): void;
    function rename(from: string, to: string): void;
}

declare global {
    /** Options of `fetch` in addition to the standard ones. */
    interface RequestInit {
        /** The time limit of each step, in seconds. */
        timeout?: number;
        /** The maximum size of the body, in bytes. */
        maxBody?: number;
    }
}
