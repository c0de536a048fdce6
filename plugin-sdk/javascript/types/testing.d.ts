import type { Block, Contents, Message, Plugin } from "./index.js";

/** The user's answer to a form. */
export declare function accept(content?: Record<string, unknown>): unknown;
/** The user declines a form or page. */
export declare function decline(): unknown;
/** The answer of the client's model. */
export declare function sampled(text: string, model?: string): unknown;
/** The client's directories. */
export declare function rooted(...uris: string[]): unknown;

export interface HttpRequest {
    method: string;
    url: string;
    headers: Record<string, string>;
    body: string;
}
export type Page = string | { status?: number; headers?: Record<string, string>; body?: string | Uint8Array; json?: unknown };

export interface Called {
    /** The text of all text blocks. */
    text: string;
    content: Block[];
    structured: any;
    /** The model sees a failure. */
    failed: boolean;
}

/** A client with its own fake gateway. */
export declare class Client {
    constructor(
        plugin: Plugin,
        options?: {
            config?: Record<string, unknown>;
            env?: Record<string, string>;
            state?: Record<string, unknown>;
            stateGranted?: boolean;
            /** Answers to questions by key: what `accept` and others return, or a function that gets the parameters. */
            answers?: Record<string, unknown>;
            /** Responses by URL. Other URLs give 404; without `pages`, requests aren't granted. */
            pages?: Record<string, Page | ((request: HttpRequest) => Page)>;
            principal?: string;
            client?: { name: string; version: string };
            revision?: string;
            capabilities?: string[];
            meta?: Record<string, unknown>;
            /** In seconds. */
            remaining?: number;
            cancelled?: boolean;
            logLevel?: string;
        },
    );
    readonly logs: { level: string; logger?: string; data: any }[];
    readonly progress: { current: number; total?: number; message?: string }[];
    readonly changes: string[];
    readonly requests: HttpRequest[];
    readonly asked: { key: string; method: string; params: any }[];
    readonly state: Record<string, any>;
    tools(): { name: string }[];
    call(tool: string, args?: Record<string, unknown>): Promise<Called>;
    read(uri: string): Promise<Contents[]>;
    prompt(name: string, args?: Record<string, string>): Promise<Message[]>;
    complete(target: { prompt?: string; resource?: string; argument: string }, typed: string, others?: Record<string, string>): Promise<string[]>;
}
