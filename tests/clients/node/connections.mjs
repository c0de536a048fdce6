// A connected client of either TypeScript SDK, 1.x or 2.x, with a common interface.

import { ANSWERS } from './checks.mjs';

/** The maximum time for a notification. */
const NOTIFICATION_TIMEOUT = 30_000;

/** The key of a request's log level in stateless revisions. */
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** A client's received messages. */
class Seen {
    logs = [];
    asked = [];
    /** The kinds of lists and URIs of resources in change notifications. */
    changed = new Set();
    /** Answers that replace the default ones. */
    answer = {};
    #waiting = new Set();

    record(note) {
        note();
        for (const look of this.#waiting) {
            look();
        }
    }

    ask(method, params) {
        this.record(() => this.asked.push({ method, params }));
        return (this.answer[method] ?? ANSWERS[method])(params);
    }

    /** Waits for a condition. */
    until(so, what) {
        return new Promise((resolve, reject) => {
            const end = done => {
                clearTimeout(timer);
                this.#waiting.delete(look);
                done();
            };
            const look = () => so() && end(resolve);
            const timer = setTimeout(() => end(() => reject(new Error(`timed out waiting for ${what}`))), NOTIFICATION_TIMEOUT);
            this.#waiting.add(look);
            look();
        });
    }
}

/** The common part of both SDKs. */
export class Connection {
    seen = new Seen();
    /** The unsupported capabilities of this connection, with reasons. */
    unsupported = {};

    /** `on` registers a handler for a request or a notification. */
    constructor(client, revision, on) {
        this.client = client;
        this.revision = revision;
        for (const method of Object.keys(ANSWERS)) {
            on(method, request => this.seen.ask(method, request.params));
        }
        on('notifications/message', ({ params }) => this.seen.record(() => this.seen.logs.push(params)));
        for (const kind of ['tools', 'prompts', 'resources']) {
            on(`notifications/${kind}/list_changed`, () => this.seen.record(() => this.seen.changed.add(kind)));
        }
        on('notifications/resources/updated', ({ params }) =>
            this.seen.record(() => this.seen.changed.add(params.uri))
        );
    }

    get stateless() {
        return this.revision >= '2026';
    }

    tools = async () => (await this.client.listTools()).tools;
    resources = async () => (await this.client.listResources()).resources;
    templates = async () => (await this.client.listResourceTemplates()).resourceTemplates;
    prompts = async () => (await this.client.listPrompts()).prompts;
    read = uri => this.client.readResource({ uri });
    get = (name, args) => this.client.getPrompt({ name, arguments: args });
    complete = (name, argument, value) =>
        this.client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: argument, value } });

    call(name, args, options = {}) {
        const { meta, ...rest } = options;
        const params = { name, arguments: args, ...(meta && { _meta: meta }) };
        return this.callTool(params, rest);
    }

    /** A call with log messages of `level` and above, set in the request or for the session. */
    async callLogged(level, name) {
        if (this.stateless) {
            return this.call(name, {}, { meta: { [LOG_LEVEL]: level } });
        }
        await this.client.setLoggingLevel(level);
        return this.call(name);
    }

    /** Subscribes to list changes, which sessions always get. */
    async listen(filter) {
        return this.stateless ? this.client.listen(filter) : { close: async () => {} };
    }

    async subscribe(uri) {
        if (this.stateless) {
            return this.client.listen({ resourceSubscriptions: [uri], toolsListChanged: true });
        }
        await this.client.subscribeResource({ uri });
        return { close: () => this.client.unsubscribeResource({ uri }) };
    }
}

const CAPABILITIES = { roots: { listChanged: true }, sampling: {}, elicitation: { form: {}, url: {} } };
const INFO = { name: 'moongate-clients', version: '1' };

/** The SDK 1.x, which supports only 2025-11-25. */
export async function first(load, transport) {
    const types = await load('@modelcontextprotocol/sdk/types.js');
    const { Client } = await load('@modelcontextprotocol/sdk/client/index.js');
    const schemas = new Map(
        [
            'ElicitRequest',
            'CreateMessageRequest',
            'ListRootsRequest',
            'LoggingMessageNotification',
            'ToolListChangedNotification',
            'PromptListChangedNotification',
            'ResourceListChangedNotification',
            'ResourceUpdatedNotification'
        ].map(name => types[`${name}Schema`]).map(schema => [schema.shape.method.value, schema])
    );
    const client = new Client(INFO, { capabilities: CAPABILITIES });
    // The SDK 1.x exposes the revision only to the transport.
    let negotiated;
    const tell = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = version => {
        negotiated = version;
        tell?.(version);
    };
    const on = (method, handler) =>
        method.startsWith('notifications/')
            ? client.setNotificationHandler(schemas.get(method), handler)
            : client.setRequestHandler(schemas.get(method), handler);
    const connection = new Connection(client, '2025-11-25', on);
    connection.callTool = (params, options) => client.callTool(params, undefined, options);
    return { connection, connect: () => client.connect(transport), spoken: () => negotiated };
}

/** The SDK 2.x, which supports every revision. */
export async function second(load, transport, revision) {
    const { Client } = await load('@modelcontextprotocol/client');
    const stateless = revision >= '2026';
    const options = stateless
        ? { versionNegotiation: { mode: 'auto' } }
        : { versionNegotiation: { mode: 'legacy' }, supportedProtocolVersions: [revision] };
    const client = new Client(INFO, { capabilities: CAPABILITIES, ...options });
    const on = (method, handler) =>
        method.startsWith('notifications/')
            ? client.setNotificationHandler(method, handler)
            : client.setRequestHandler(method, handler);
    const connection = new Connection(client, revision, on);
    connection.callTool = (params, rest) => client.callTool(params, rest);
    return {
        connection,
        connect: () => client.connect(transport),
        spoken: () => client.getNegotiatedProtocolVersion()
    };
}
