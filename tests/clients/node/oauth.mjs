// The gateway as a resource server of a real authorization server, `oidc-provider`, with real clients.
//
// Usage: node oauth.mjs <directory> <python> <script> <rust> -- COMMAND…
// The packages are loaded from the directory into which xtask installed them. COMMAND starts the gateway; this script
// adds the address and the configuration. A proxy stands for the public address, which differs from the gateway's own.
// Each check prints a line: `ok` or `FAILED`, then client, `oauth`, the kind of token and the flow.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

import { AuthorizationServer, SCOPE, listen } from './authorization_server.mjs';
import { bridge, program, typescript } from './oauth_clients.mjs';

const [directory, python, script, rust, , ...command] = process.argv.slice(2);
const packages = createRequire(path.join(path.resolve(directory), 'package.json'));
const load = name => import(pathToFileURL(packages.resolve(name)).href).then(module => module.default ?? module);
const modules = path.join(path.resolve(directory), 'node_modules');
const version = name => JSON.parse(fs.readFileSync(path.join(modules, name, 'package.json'), 'utf8')).version;

/** The maximum time for a check. */
const CHECK_TIMEOUT = 30_000;

/** The gateway for a resource, with everything that it logs. Its endpoint is the proxy's target from now on. */
async function startGateway(issuer, proxy) {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), 'moongate-oauth-'));
    fs.writeFileSync(path.join(place, 'secret'), 'gateway-secret');
    const introspection = `introspection = { client_id = "gateway", client_secret = { file = "secret" } }`;
    const plugin = JSON.stringify(path.resolve('plugins/dist/zoo.wasm'));
    fs.writeFileSync(
        path.join(place, 'gateway.toml'),
        `version = 1
[http.auth]
resource = "${proxy.resource}"
scopes = ["${SCOPE}"]
[[http.auth.issuers]]
issuer = "${issuer}"
${proxy.alg ? '' : introspection}
[plugins.zoo]
source = ${plugin}
`
    );
    const [name, ...args] = command;
    const gateway = spawn(name, [...args, '--http', '127.0.0.1:0', '-c', path.join(place, 'gateway.toml')], {
        stdio: ['ignore', 'ignore', 'pipe']
    });
    const stop = () => {
        gateway.kill();
        fs.rmSync(place, { recursive: true, force: true });
    };
    process.on('exit', stop);
    const log = [];
    const lines = readline.createInterface(gateway.stderr);
    lines.on('line', line => log.push(line));
    await new Promise((resolve, reject) => {
        lines.on('line', line => {
            proxy.target.origin = line.match(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/)?.[1] ?? proxy.target.origin;
            if (proxy.target.origin) {
                resolve();
            }
        });
        lines.on('close', () => reject(new Error(`the gateway didn't start: ${log.join('\n')}`)));
    });
    const stopped = new Promise(resolve => gateway.on('exit', resolve));
    return {
        log,
        stop: async () => {
            stop();
            await stopped;
            process.off('exit', stop);
            proxy.target.origin = undefined;
        }
    };
}

/** The public address: forwards everything to the gateway, and keeps the `Host` header as proxies do. */
async function startProxy(alg) {
    const proxy = { alg, target: {}, tokens: new Set(), sessions: 0 };
    const { origin } = await listen((request, response) => {
        proxy.tokens.add(request.headers.authorization?.replace('Bearer ', ''));
        if (!proxy.target.origin) {
            response.writeHead(502).end();
            return;
        }
        const to = new URL(request.url, proxy.target.origin);
        const forwarded = http.request(to, { method: request.method, headers: request.headers }, answer => {
            // Only the response to `initialize` has this header.
            proxy.sessions += answer.headers['mcp-session-id'] ? 1 : 0;
            response.writeHead(answer.statusCode, answer.rawHeaders);
            answer.pipe(response);
        });
        forwarded.on('error', () => response.destroy());
        response.on('close', () => forwarded.destroy());
        request.pipe(forwarded);
    });
    proxy.resource = `${origin}/mcp`;
    return proxy;
}

/** The flows of a client: a name and a function each. They use one session, in this order. */
async function* flows(kind, proxy, server) {
    let session;
    try {
        yield [
            'code',
            async () => {
                session = await kind.open(proxy.resource);
                assert.equal(await session.callerName(), 'ann');
                assert.equal(session.signIns, 1);
            }
        ];
        const inSession = body => refreshInSession(session, proxy, server, body);
        yield [proxy.alg ? 'expired' : 'revoked', () => inSession(async replaceToken => replaceToken())];
        if (proxy.alg) {
            yield [
                'new_keys',
                () =>
                    inSession(async replaceToken => {
                        server.changeKeys();
                        assert.equal(await session.callerName(), 'ann', 'with the previous key');
                        await replaceToken();
                    })
            ];
        }
        yield [
            'outage',
            () =>
                inSession(async replaceToken => {
                    server.setOutage('all');
                    assert.equal(await session.callerName(), 'ann', 'with a known token');
                    server.setOutage('none');
                    await replaceToken();
                    if (!proxy.alg) {
                        // The gateway can't tell whether the token is valid, so the client keeps it.
                        server.setOutage('introspection');
                        await assert.rejects(session.callerName());
                        server.setOutage('none');
                    }
                })
        ];
        if (kind.credentials) {
            yield ['client_credentials', async () => assert.match(await kind.credentials(proxy.resource), /^(client:)?machine/)];
        }
    } finally {
        server.setOutage('none');
        await inTime(session?.close());
    }
}

/** Runs a function that makes the client's token invalid. The client refreshes it and continues its session. */
async function refreshInSession(session, proxy, server, body) {
    const { refreshes } = server;
    const { sessions } = proxy;
    const { signIns } = session;
    await body(async () => session.replaceToken(await server.invalidToken(proxy.resource)));
    assert.equal(await session.callerName(), 'ann');
    assert.ok(server.refreshes > refreshes, 'no token was refreshed');
    assert.equal(session.signIns, signIns, 'signed in again');
    assert.equal(proxy.sessions, sessions, 'opened another session');
}

/** The output of a promise, or an error if it takes too long. */
function inTime(promise) {
    let timer;
    const late = new Promise((_, reject) => {
        timer = setTimeout(() => reject(new Error('timed out')), CHECK_TIMEOUT);
    });
    return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}

/** Runs a check and prints its line. Returns the number of failures, 0 or 1. */
async function check(label, body) {
    try {
        await inTime(body());
        console.log(`ok ${label}`);
        return 0;
    } catch (error) {
        console.log(`FAILED ${label}: ${String(error).replace(/\s+/g, ' ')}`);
        console.error(error);
        return 1;
    }
}

/** The clients. */
async function clients(issuer) {
    const oldClient = await load('@modelcontextprotocol/sdk/client/index.js');
    const oldTransport = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const oldAuth = await load('@modelcontextprotocol/sdk/client/auth.js');
    const oldStdio = await load('@modelcontextprotocol/sdk/client/stdio.js');
    const now = await load('@modelcontextprotocol/client');
    return [
        typescript(`typescript-${version('@modelcontextprotocol/sdk')}`, {
            Client: oldClient.Client,
            Transport: oldTransport.StreamableHTTPClientTransport,
            unauthorized: oldAuth.UnauthorizedError,
            finish: (transport, parameters) => transport.finishAuth(parameters.get('code'))
        }),
        typescript(`typescript-client-${version('@modelcontextprotocol/client')}`, {
            Client: now.Client,
            Transport: now.StreamableHTTPClientTransport,
            unauthorized: now.UnauthorizedError,
            finish: (transport, parameters) => transport.finishAuth(parameters),
            credentials: () =>
                new now.ClientCredentialsProvider({
                    clientId: 'machine',
                    clientSecret: 'machine-secret',
                    expectedIssuer: issuer,
                    scope: SCOPE
                })
        }),
        bridge(`mcp-remote-${version('mcp-remote')}`, {
            Client: oldClient.Client,
            Transport: oldStdio.StdioClientTransport,
            script: path.join(modules, 'mcp-remote/dist/proxy.js')
        }),
        await program(python, [script, issuer]),
        await program(rust, ['--oauth'])
    ];
}

const proxies = [];
for (const alg of ['ES256', 'RS256', 'EdDSA', undefined]) {
    proxies.push(await startProxy(alg));
}
const { Provider } = await import(pathToFileURL(packages.resolve('oidc-provider')).href);
const server = await AuthorizationServer.start(Provider, proxies);
for (const kind of await clients(server.issuer)) {
    for (const proxy of proxies) {
        const gateway = await startGateway(server.issuer, proxy);
        const label = `${kind.label} oauth ${proxy.alg ?? 'opaque'}`;
        let failed = 0;
        for await (const [flow, body] of flows(kind, proxy, server)) {
            failed += await check(`${label} ${flow}`, body);
            // Nothing works without a session, and the other kinds of keys differ only in the signature.
            if (failed || ['RS256', 'EdDSA'].includes(proxy.alg)) {
                break;
            }
        }
        failed += await check(`${label} no_token_logged`, async () => {
            const log = gateway.log.join('\n');
            const logged = [...proxy.tokens].filter(token => token && log.includes(token.slice(-20)));
            assert.equal(logged.length, 0, log);
        });
        if (failed) {
            process.exitCode = 1;
            console.error(gateway.log.join('\n'));
        }
        await gateway.stop();
    }
}
process.exit();
