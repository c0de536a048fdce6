// Lists and calls `time` with both lines of the TypeScript SDK, over HTTP and stdio, in both eras.
//
// Usage: node list_and_call.mjs <sdk folder> <prefix> [--http URL] [--stdio COMMAND…]
// The packages are looked up in the folder that xtask installed them into, not beside this file.
// Each check prints a line that begins with `ok` or `FAILED`; xtask counts them.

import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import path from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';

const [folder, prefix, ...rest] = process.argv.slice(2);
const packages = createRequire(path.join(path.resolve(folder), 'package.json'));
const load = name => import(pathToFileURL(packages.resolve(name)).href).then(module => module.default ?? module);

/** The places to connect to: `{ url }` or `{ command, args }`. */
function targets() {
    const found = [];
    for (let at = 0; at < rest.length; at++) {
        if (rest[at] === '--http') {
            found.push({ name: 'http', url: rest[++at] });
        } else if (rest[at] === '--stdio') {
            const [command, ...args] = rest.slice(at + 1);
            found.push({ name: 'stdio', command, args, env: process.env, stderr: 'inherit' });
            break;
        } else {
            throw new Error(`unknown argument ${rest[at]}`);
        }
    }
    assert.ok(found.length > 0, 'give --http URL or --stdio COMMAND…');
    return found;
}

/** One way to connect: what it is called, the client, its transport, and the revision it must end with. */
async function* ways(target) {
    const info = { name: 'moongate-clients', version: '1' };

    const v1 = {
        ...(await load('@modelcontextprotocol/sdk/client/index.js')),
        ...(await load('@modelcontextprotocol/sdk/client/streamableHttp.js')),
        ...(await load('@modelcontextprotocol/sdk/client/stdio.js'))
    };
    const first = transport(v1, target);
    // 1.x tells the revision to nobody but the transport.
    let told;
    const tell = first.setProtocolVersion?.bind(first);
    first.setProtocolVersion = version => {
        told = version;
        tell?.(version);
    };
    yield {
        label: `typescript 1.x, ${target.name}`,
        client: new v1.Client(info),
        transport: first,
        revision: () => told,
        wanted: '2025-11-25'
    };

    const v2 = { ...(await load('@modelcontextprotocol/client')), ...(await load('@modelcontextprotocol/client/stdio')) };
    const modes = [
        ['legacy', 'legacy', '2025-11-25'],
        ['auto', 'auto', '2026-07-28'],
        ['pinned', { pin: '2026-07-28' }, '2026-07-28']
    ];
    for (const [name, mode, wanted] of modes) {
        yield {
            label: `typescript 2.x, ${target.name}, ${name}`,
            client: new v2.Client(info, { versionNegotiation: { mode } }),
            transport: transport(v2, target),
            revision: client => client.getNegotiatedProtocolVersion(),
            wanted
        };
    }
}

function transport(sdk, target) {
    return target.url
        ? new sdk.StreamableHTTPClientTransport(new URL(target.url))
        : new sdk.StdioClientTransport(target);
}

/** What is checked of a connected client. */
const checks = {
    'lists the tools': async ({ client }) => {
        const { tools } = await client.listTools();
        const names = tools.map(tool => tool.name).sort();
        assert.deepEqual(names, [`${prefix}convert_time`, `${prefix}get_current_time`]);
        for (const tool of tools) {
            assert.ok(tool.description, `${tool.name} has no description`);
            assert.equal(tool.inputSchema.type, 'object');
        }
    },
    'converts a time': async ({ client }) => {
        const value = valueOf(await call(client, 'convert_time', zones('Asia/Tokyo', '12:00', 'Asia/Kathmandu')));
        assert.equal(value.time_difference, '-3.25h');
        assert.match(value.target.datetime, /T08:45:00\+05:45$/);
    },
    'tells the current time': async ({ client }) => {
        const value = valueOf(await call(client, 'get_current_time', { timezone: 'Asia/Kathmandu' }));
        assert.ok(Math.abs(Date.now() - Date.parse(value.datetime)) < 60_000, value.datetime);
        assert.equal(value.is_dst, false);
    },
    'an unknown zone is a tool error that names it': async ({ client }) => {
        const result = await call(client, 'get_current_time', { timezone: 'Mars/Olympus' });
        assert.equal(result.isError, true);
        assert.match(textOf(result), /Mars\/Olympus/);
    },
    'an unknown tool is refused with -32602': async ({ client }) => {
        await assert.rejects(call(client, 'no_such_tool', {}), error => error.code === -32602);
    },
    '32 calls at once are each answered with their own result': async ({ client }) => {
        const one = async minute => {
            const time = `12:${String(minute).padStart(2, '0')}`;
            const value = valueOf(await call(client, 'convert_time', zones('UTC', time, 'Asia/Tokyo')));
            assert.ok(value.source.datetime.includes(`T${time}:00`), `${time} was answered with ${value.source.datetime}`);
        };
        await Promise.all(Array.from({ length: 32 }, (_, minute) => one(minute)));
    }
};

const call = (client, name, args) => client.callTool({ name: prefix + name, arguments: args });
const zones = (source, time, target) => ({ source_timezone: source, time, target_timezone: target });
const textOf = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('');

/** The result's value: the text is JSON, and the structured content, where there is any, says the same. */
function valueOf(result) {
    assert.ok(!result.isError, textOf(result));
    const value = JSON.parse(textOf(result));
    if (result.structuredContent !== undefined) {
        assert.deepEqual(result.structuredContent, value);
    }
    return value;
}

let failed = 0;

/** Runs one check and prints how it went. */
async function check(label, name, body) {
    try {
        await body();
        console.log(`ok ${label}: ${name}`);
    } catch (error) {
        failed += 1;
        console.log(`FAILED ${label}: ${name}: ${error.message.split('\n').join(' ')}`);
        console.error(error);
    }
}

for (const target of targets()) {
    for await (const way of ways(target)) {
        let connected = false;
        await check(way.label, `speaks ${way.wanted}`, async () => {
            await way.client.connect(way.transport);
            connected = true;
            assert.equal(way.revision(way.client), way.wanted);
        });
        if (!connected) {
            continue;
        }
        for (const [name, body] of Object.entries(checks)) {
            await check(way.label, name, () => body(way));
        }
        await way.client.close();
    }
}
process.exit(failed === 0 ? 0 : 1);
