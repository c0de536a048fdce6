// Tests clients of the TypeScript SDK, 1.x and 2.x, and the bridge `mcp-remote` with the fixture, over both transports
// and in every revision that they support.
//
// Usage: node everything.mjs <directory> [--http URL] [--sse URL] [--unix ADDRESS] [--websocket URL] [-- COMMAND…]
// The Unix socket needs `connect` of the command's program, as does a WebSocket with the newer SDK.
// The packages are loaded from the directory into which xtask installed them, not from next to this file.
// Each check prints a line: `ok`, `FAILED` or `-` (not supported by the client), then client, transport, revision and capability.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { parseArgs } from 'node:util';
import { pathToFileURL } from 'node:url';

import { CHECKS, Unsupported } from './checks.mjs';
import { first, second } from './connections.mjs';

const [directory, ...words] = process.argv.slice(2);
const modules = path.join(path.resolve(directory), 'node_modules');
const packages = createRequire(path.join(path.resolve(directory), 'package.json'));
const load = name => import(pathToFileURL(packages.resolve(name)).href).then(module => module.default ?? module);
const version = name => JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version;

const REVISIONS = ['2024-11-05', '2025-03-26', '2025-06-18', '2025-11-25', '2026-07-28'];

/** The maximum time for a check. */
const CHECK_TIMEOUT = 120_000;

const { values, positionals } = parseArgs({
    args: words,
    options: {
        http: { type: 'string' },
        sse: { type: 'string' },
        unix: { type: 'string' },
        websocket: { type: 'string' }
    },
    allowPositionals: true
});
const [command, ...args] = positionals;

/** The connections to test: the prefix of the printed lines, and a function that connects. */
async function* ways() {
    const old = { label: `typescript-${version('@modelcontextprotocol/sdk')}`, make: first, revisions: ['2025-11-25'] };
    const now = { label: `typescript-client-${version('@modelcontextprotocol/client')}`, make: second, revisions: REVISIONS };
    const oldStdio = await load('@modelcontextprotocol/sdk/client/stdio.js');
    const nowStdio = await load('@modelcontextprotocol/client/stdio');
    const program = { command, args, env: process.env, stderr: 'inherit' };
    if (values.http) {
        const url = new URL(values.http);
        const { StreamableHTTPClientTransport: Old } = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
        const { StreamableHTTPClientTransport: Now } = await load('@modelcontextprotocol/client');
        yield* each(old, 'http', () => new Old(url));
        yield* each(now, 'http', () => new Now(url));
        const bridge = [path.join(modules, 'mcp-remote/dist/proxy.js'), values.http, '--allow-http', '--transport', 'http-only'];
        const remote = { command: process.execPath, args: bridge, env: process.env, stderr: 'inherit' };
        const label = `mcp-remote-${version('mcp-remote')}`;
        const oversized = "messages above the size limit don't work, because the bridge stops at the error";
        const bridged = { ...old, label, unsupported: { oversized } };
        yield* each(bridged, 'stdio-to-http', () => new oldStdio.StdioClientTransport(remote));
        const unsupported = {
            oversized,
            mirrored: "arguments that are sent as headers don't work, because the bridge doesn't write the headers",
            cancel: 'the bridge forwards the cancellation but keeps its stream open, and only closing the stream cancels'
        };
        const stateless = { ...now, label, unsupported, revisions: ['2026-07-28'] };
        yield* each(stateless, 'stdio-to-http', () => new nowStdio.StdioClientTransport(remote));
    }
    if (values.sse) {
        const { SSEClientTransport } = await load('@modelcontextprotocol/sdk/client/sse.js');
        yield* each(old, 'sse', () => new SSEClientTransport(new URL(values.sse)));
    }
    if (command) {
        yield* each(old, 'stdio', () => new oldStdio.StdioClientTransport(program));
        yield* each(now, 'stdio', () => new nowStdio.StdioClientTransport(program));
    }
    const bridge = address => ({ ...program, args: ['connect', address] });
    if (values.unix) {
        yield* each(old, 'unix', () => new oldStdio.StdioClientTransport(bridge(values.unix)));
        yield* each(now, 'unix', () => new nowStdio.StdioClientTransport(bridge(values.unix)));
    }
    if (values.websocket) {
        const { WebSocketClientTransport } = await load('@modelcontextprotocol/sdk/client/websocket.js');
        const oversized = "messages above the size limit don't work, because they close the WebSocket";
        const limited = way => ({ ...way, unsupported: { oversized } });
        yield* each(limited(old), 'websocket', () => new WebSocketClientTransport(new URL(values.websocket)));
        yield* each(limited(now), 'websocket', () => new nowStdio.StdioClientTransport(bridge(values.websocket)));
    }
}

async function* each({ label, make, revisions, unsupported = {} }, transport, open) {
    for (const revision of revisions) {
        const way = await make(load, open(), revision);
        way.connection.unsupported = unsupported;
        yield { words: `${label} ${transport} ${revision}`, revision, ...way };
    }
}

let failed = 0;

/** Runs one check and prints its result. */
async function check(label, body) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error(`no end after ${CHECK_TIMEOUT / 1000} s`)), CHECK_TIMEOUT);
    });
    try {
        const note = await Promise.race([body(), late]);
        console.log(`ok ${label}${note ? `: ${note}` : ''}`);
    } catch (error) {
        if (error instanceof Unsupported) {
            console.log(`- ${label}: ${error.message}`);
            return;
        }
        failed += 1;
        console.log(`FAILED ${label}: ${String(error?.message ?? error).split('\n').join(' ')}`);
        console.error(error);
    } finally {
        clearTimeout(timer);
    }
}

for await (const { words: label, revision, connection, connect, spoken } of ways()) {
    let connected = false;
    await check(`${label} connect`, async () => {
        await connect();
        connected = true;
        assert.equal(spoken() ?? revision, revision);
    });
    for (const [name, body] of Object.entries(CHECKS)) {
        await check(`${label} ${name}`, () => {
            assert.ok(connected, 'not connected');
            return body(connection);
        });
    }
    await connection.client.close();
}
process.exit(failed === 0 ? 0 : 1);
