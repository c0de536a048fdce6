// The gateway as a resource server of a real authorization server, `oidc-provider`, with real clients: both lines of the
// TypeScript SDK here, and the Python SDK in `oauth.py`.
//
// Usage: node oauth.mjs <directory> <python> <script> -- COMMAND…
// The packages are loaded from the directory into which xtask installed them. COMMAND starts the gateway; this script
// adds the address and the configuration. A proxy stands for the public address, which differs from the gateway's own.
// Each check prints a line: `ok` or `FAILED`, then client, `oauth` and the flow.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { generateKeyPairSync, randomUUID } from 'node:crypto';
import fs from 'node:fs';
import http from 'node:http';
import { createRequire } from 'node:module';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import readline from 'node:readline';
import { pathToFileURL } from 'node:url';

const [directory, python, script, , ...command] = process.argv.slice(2);
const packages = createRequire(path.join(path.resolve(directory), 'package.json'));
const load = name => import(pathToFileURL(packages.resolve(name)).href).then(module => module.default ?? module);
const version = name =>
    JSON.parse(fs.readFileSync(path.join(path.resolve(directory), 'node_modules', name, 'package.json'), 'utf8')).version;

/** The maximum time for a check. */
const CHECK_TIMEOUT = 60_000;

/** The scope that the gateway requires. */
const SCOPE = 'mcp:use';

/** The address to which the authorization server sends the browser back. Nothing listens there. */
const CALLBACK = 'http://127.0.0.1:7/callback';

/** A server on a free port. */
function listen(handler) {
    const server = http.createServer(handler);
    return new Promise(resolve =>
        server.listen(0, '127.0.0.1', () => resolve({ server, origin: `http://127.0.0.1:${server.address().port}` }))
    );
}

/** The whole body of a request. */
async function bodyOf(request) {
    const chunks = [];
    for await (const chunk of request) {
        chunks.push(chunk);
    }
    return Buffer.concat(chunks).toString();
}

/** A new private key for the authorization server. */
function key(type, options, alg, kid) {
    return { ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }), use: 'sig', alg, kid };
}

/** Starts the authorization server. `opaque` names the resource whose tokens are opaque. */
async function startAuthorizationServer(resources) {
    const { Provider } = await import(pathToFileURL(packages.resolve('oidc-provider')).href);
    let handle;
    const { origin: issuer } = await listen((request, response) => handle(request, response));
    const client = (id, secret, grants) => ({
        client_id: id,
        client_secret: secret,
        grant_types: grants,
        redirect_uris: [],
        response_types: []
    });
    const provider = new Provider(issuer, {
        jwks: { keys: [key('rsa', { modulusLength: 2048 }, 'RS256', 'r'), key('ec', { namedCurve: 'P-256' }, 'ES256', 'e'), key('ed25519', {}, 'EdDSA', 'd')] },
        clients: [client('machine', 'machine-secret', ['client_credentials']), client('gateway', 'gateway-secret', [])],
        scopes: ['openid', 'offline_access', SCOPE],
        features: {
            clientCredentials: { enabled: true },
            devInteractions: { enabled: true },
            introspection: { enabled: true, allowedPolicy: () => true },
            registration: { enabled: true },
            revocation: { enabled: true },
            resourceIndicators: {
                enabled: true,
                useGrantedResource: () => true,
                getResourceServerInfo: (_, resource) => {
                    const format = resources.find(known => known.resource === resource);
                    assert.ok(format, `unknown resource ${resource}`);
                    return {
                        scope: SCOPE,
                        audience: resource,
                        accessTokenTTL: 300,
                        accessTokenFormat: format.alg ? 'jwt' : 'opaque',
                        jwt: { sign: { alg: format.alg } }
                    };
                }
            }
        }
    });
    handle = provider.callback();
    return issuer;
}

/** Signs in on the authorization server's own pages, like a person with a browser; returns the callback's parameters. */
async function signIn(address) {
    const cookies = new Map();
    let url = new URL(address);
    let form;
    for (let step = 0; step < 20; step++) {
        const response = await fetch(url, {
            method: form ? 'POST' : 'GET',
            body: form,
            redirect: 'manual',
            headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') }
        });
        for (const cookie of response.headers.getSetCookie()) {
            const [name, value] = cookie.split(';')[0].split('=');
            cookies.set(name, value);
        }
        form = undefined;
        if (response.status >= 300 && response.status < 400) {
            url = new URL(response.headers.get('location'), url);
            if (url.href.startsWith(CALLBACK)) {
                return url.searchParams;
            }
            continue;
        }
        const page = await response.text();
        const action = page.match(/<form[^>]* action="([^"]+)"/)?.[1];
        assert.ok(action, `no form: ${response.status} ${page.slice(0, 500)}`);
        form = new URLSearchParams([...page.matchAll(/<input[^>]* type="hidden"[^>]* name="([^"]+)"[^>]* value="([^"]*)"/g)].map(([, name, value]) => [name, value]));
        if (page.includes('name="login"')) {
            form.set('login', 'ann');
            form.set('password', 'any');
        }
        url = new URL(action, url);
    }
    throw new Error('the authorization server never redirected to the client');
}

/** Starts the gateway for a resource; returns its endpoint. */
async function startGateway(issuer, { resource, alg }) {
    const place = fs.mkdtempSync(path.join(os.tmpdir(), 'moongate-oauth-'));
    const secret = path.join(place, 'secret');
    fs.writeFileSync(secret, 'gateway-secret');
    const introspection = `introspection = { client_id = "gateway", client_secret = { file = "secret" } }`;
    const plugin = JSON.stringify(path.resolve('plugins/dist/zoo.wasm'));
    fs.writeFileSync(
        path.join(place, 'gateway.toml'),
        `version = 1
[http.auth]
resource = "${resource}"
scopes = ["${SCOPE}"]
[[http.auth.issuers]]
issuer = "${issuer}"
${alg ? '' : introspection}
[plugins.zoo]
source = ${plugin}
`
    );
    const [program, ...args] = command;
    const gateway = spawn(program, [...args, '--http', '127.0.0.1:0', '-c', path.join(place, 'gateway.toml')], {
        stdio: ['ignore', 'ignore', 'pipe']
    });
    process.on('exit', () => {
        gateway.kill();
        fs.rmSync(place, { recursive: true });
    });
    const log = [];
    for await (const line of readline.createInterface(gateway.stderr)) {
        log.push(line);
        const origin = line.match(/(http:\/\/127\.0\.0\.1:\d+)\/mcp/)?.[1];
        if (origin) {
            gateway.stderr.resume();
            return { origin, log };
        }
    }
    throw new Error(`the gateway didn't start: ${log.join('\n')}`);
}

/** The public address: forwards everything to the gateway, and keeps the `Host` header as proxies do. */
async function startProxy() {
    const target = {};
    const { origin } = await listen((request, response) => {
        const to = new URL(request.url, target.origin);
        const forwarded = http.request(to, { method: request.method, headers: request.headers }, answer => {
            response.writeHead(answer.statusCode, answer.rawHeaders);
            answer.pipe(response);
        });
        forwarded.on('error', () => response.destroy());
        response.on('close', () => forwarded.destroy());
        request.pipe(forwarded);
    });
    return { resource: `${origin}/mcp`, target };
}

/** A client's memory of an authorization, which a host would store. */
class Memory {
    redirectUrl = CALLBACK;
    clientMetadata = {
        client_name: 'oauth.mjs',
        redirect_uris: [CALLBACK],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'none',
        application_type: 'native'
    };
    #kept = {};
    state = () => randomUUID();
    clientInformation = () => this.#kept.client;
    saveClientInformation = client => void (this.#kept.client = client);
    tokens = () => this.#kept.tokens;
    saveTokens = tokens => void (this.#kept.tokens = tokens);
    codeVerifier = () => this.#kept.verifier;
    saveCodeVerifier = verifier => void (this.#kept.verifier = verifier);
    redirectToAuthorization = url => void (this.authorization = url);
}

/** Calls a tool that returns the caller's name. */
async function callerName(client) {
    const result = await client.callTool({ name: 'zoo_echo_context', arguments: {} });
    return result.structuredContent.principal;
}

/** The flows of a TypeScript SDK. */
async function* typescriptFlows({ Client, Transport, unauthorized, finish, credentials }, resource) {
    const url = new URL(resource);
    yield [
        'code',
        async () => {
            const memory = new Memory();
            const first = new Transport(url, { authProvider: memory });
            const refused = new Client({ name: 'oauth', version: '1' });
            await assert.rejects(refused.connect(first), unauthorized);
            assert.equal(memory.authorization.searchParams.get('resource'), resource);
            // The newer SDK also asks for a refresh token.
            assert.ok(memory.authorization.searchParams.get('scope').split(' ').includes(SCOPE));
            await finish(first, await signIn(memory.authorization));
            const client = new Client({ name: 'oauth', version: '1' });
            await client.connect(new Transport(url, { authProvider: memory }));
            assert.equal(await callerName(client), 'ann');
            await client.close();
        }
    ];
    if (credentials) {
        yield [
            'client_credentials',
            async () => {
                const client = new Client({ name: 'oauth', version: '1' });
                await client.connect(new Transport(url, { authProvider: credentials() }));
                assert.equal(await callerName(client), 'machine');
                await client.close();
            }
        ];
    }
}

/** Runs a check and prints its line. */
async function check(label, body) {
    const timeout = new Promise((_, reject) => setTimeout(() => reject(new Error('timed out')), CHECK_TIMEOUT).unref());
    try {
        await Promise.race([body(), timeout]);
        console.log(`ok ${label}`);
    } catch (error) {
        process.exitCode = 1;
        console.log(`FAILED ${label}: ${String(error).replace(/\s+/g, ' ')}`);
        console.error(error);
    }
}

/** Runs the flows of the Python SDK, which signs in through a helper of this script. */
function runPython(issuer, resource, helper) {
    return new Promise((resolve, reject) => {
        const child = spawn(python, [script, issuer, resource, helper], { stdio: ['ignore', 'inherit', 'inherit'] });
        child.on('error', reject);
        child.on('exit', code => {
            process.exitCode ||= code ?? 1;
            resolve();
        });
    });
}

const proxies = [];
for (const alg of ['ES256', 'RS256', 'EdDSA', undefined]) {
    proxies.push({ alg, ...(await startProxy()) });
}
const issuer = await startAuthorizationServer(proxies);
const { origin: helper } = await listen(async (request, response) => {
    response.end((await signIn(await bodyOf(request))).toString());
});

const oldClient = await load('@modelcontextprotocol/sdk/client/index.js');
const oldTransport = await load('@modelcontextprotocol/sdk/client/streamableHttp.js');
const oldAuth = await load('@modelcontextprotocol/sdk/client/auth.js');
const now = await load('@modelcontextprotocol/client');
const kinds = {
    [`typescript-${version('@modelcontextprotocol/sdk')}`]: {
        Client: oldClient.Client,
        Transport: oldTransport.StreamableHTTPClientTransport,
        unauthorized: oldAuth.UnauthorizedError,
        finish: (transport, parameters) => transport.finishAuth(parameters.get('code'))
    },
    [`typescript-client-${version('@modelcontextprotocol/client')}`]: {
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
    }
};

for (const proxy of proxies) {
    const gateway = await startGateway(issuer, proxy);
    proxy.target.origin = gateway.origin;
    const tokens = proxy.alg ?? 'opaque';
    for (const [label, kind] of Object.entries(kinds)) {
        for await (const [flow, body] of typescriptFlows(kind, proxy.resource)) {
            await check(`${label} oauth ${tokens} ${flow}`, body);
        }
    }
    if (proxy.alg === 'ES256' || !proxy.alg) {
        await runPython(issuer, proxy.resource, helper);
    }
    if (process.exitCode) {
        console.error(gateway.log.join('\n'));
    }
}
process.exit();
