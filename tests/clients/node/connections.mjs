// A connected client of either line of the TypeScript SDK, with the differences between the two taken off.

import { ANSWERS } from './checks.mjs';

/** How long a notification may take. */
const PATIENCE = 30_000;

/** The key of a request's own log level, where there are no sessions. */
const LOG_LEVEL = 'io.modelcontextprotocol/logLevel';

/** What a client was told and asked. */
class Seen {
    logs = [];
    asked = [];
    /** The kinds of lists, and the URIs of resources, that were said to have changed. */
    changed = new Set();
    /** Answers that stand in for the usual ones. */
    answer = {};
    #waiting = new Set();

    told(note) {
        note();
        for (const look of this.#waiting) {
            look();
        }
    }

    ask(method, params) {
        this.told(() => this.asked.push({ method, params }));
        return (this.answer[method] ?? ANSWERS[method])(params);
    }

    /** Waits until something is so. */
    until(so, what) {
        return new Promise((resolve, reject) => {
            const end = done => {
                clearTimeout(timer);
                this.#waiting.delete(look);
                done();
            };
            const look = () => so() && end(resolve);
            const timer = setTimeout(() => end(() => reject(new Error(`${what} didn't come`))), PATIENCE);
            this.#waiting.add(look);
            look();
        });
    }
}

/** What both lines have in common. */
export class Connection {
    seen = new Seen();
    /** What the way lacks, and why. */
    lacks = {};

    /** `on` registers a handler for a request or a notification. */
    constructor(client, revision, on) {
        this.client = client;
        this.revision = revision;
        for (const method of Object.keys(ANSWERS)) {
            on(method, request => this.seen.ask(method, request.params));
        }
        on('notifications/message', ({ params }) => this.seen.told(() => this.seen.logs.push(params)));
        for (const kind of ['tools', 'prompts', 'resources']) {
            on(`notifications/${kind}/list_changed`, () => this.seen.told(() => this.seen.changed.add(kind)));
        }
        on('notifications/resources/updated', ({ params }) =>
            this.seen.told(() => this.seen.changed.add(params.uri))
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

    /** A call with messages of `level` and above: told with the request, or before it for the session. */
    async callLogged(level, name) {
        if (this.stateless) {
            return this.call(name, {}, { meta: { [LOG_LEVEL]: level } });
        }
        await this.client.setLoggingLevel(level);
        return this.call(name);
    }

    /** Listens to changes of lists, which a session does anyway. */
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

/** The line 1.x, which speaks 2025-11-25 only. */
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
    // This line tells the revision to nobody but the transport.
    let told;
    const tell = transport.setProtocolVersion?.bind(transport);
    transport.setProtocolVersion = version => {
        told = version;
        tell?.(version);
    };
    const on = (method, handler) =>
        method.startsWith('notifications/')
            ? client.setNotificationHandler(schemas.get(method), handler)
            : client.setRequestHandler(schemas.get(method), handler);
    const connection = new Connection(client, '2025-11-25', on);
    connection.callTool = (params, options) => client.callTool(params, undefined, options);
    return { connection, connect: () => client.connect(transport), spoken: () => told };
}

/** The line 2.x, which speaks every revision. */
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
