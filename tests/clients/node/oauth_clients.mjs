// The clients of `oauth.mjs`, with a common interface.
//
// `open` connects, while a person signs in, and returns a session: `callerName` calls a tool that returns the caller's
// name, `replaceToken` makes the client use another access token, `signIns` counts how often the person signed in.

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';
import process from 'node:process';
import readline from 'node:readline';

import { SCOPE, signIn } from './authorization_server.mjs';

/** The address to which the authorization server sends the browser back. Nothing listens there. */
const CALLBACK = 'http://127.0.0.1:7/callback';

const INFO = { name: 'oauth', version: '1' };

/** A tool that returns the caller's name. */
const TOOL = { name: 'zoo_echo_context', arguments: {} };

/** Signs in where a client sends the person, and checks what it asks for. Returns the address of its callback. */
function approve(address, resource) {
    const parameters = new URL(address).searchParams;
    assert.equal(parameters.get('resource'), resource);
    assert.equal(parameters.get('code_challenge_method'), 'S256');
    // Some clients also ask for a refresh token.
    assert.ok(parameters.get('scope').split(' ').includes(SCOPE), parameters.get('scope'));
    return signIn(address);
}

/** What a client remembers of an authorization. */
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
    redirects = 0;
    #kept = {};
    state = () => randomUUID();
    clientInformation = () => this.#kept.client;
    saveClientInformation = client => void (this.#kept.client = client);
    tokens = () => this.#kept.tokens;
    saveTokens = tokens => void (this.#kept.tokens = tokens);
    codeVerifier = () => this.#kept.verifier;
    saveCodeVerifier = verifier => void (this.#kept.verifier = verifier);
    redirectToAuthorization = url => {
        this.redirects += 1;
        this.authorization = url;
    };
}

/** An SDK for TypeScript. */
export function typescript(label, { Client, Transport, unauthorized, finish, credentials }) {
    const connect = async (resource, authProvider) => {
        const client = new Client(INFO);
        await client.connect(new Transport(new URL(resource), { authProvider }));
        return client;
    };
    const nameIn = async client => (await client.callTool(TOOL)).structuredContent.principal;
    return {
        label,
        open: async resource => {
            const memory = new Memory();
            const first = new Transport(new URL(resource), { authProvider: memory });
            await assert.rejects(new Client(INFO).connect(first), unauthorized);
            await finish(first, (await approve(memory.authorization, resource)).searchParams);
            const client = await connect(resource, memory);
            return {
                get signIns() {
                    return memory.redirects;
                },
                callerName: () => nameIn(client),
                replaceToken: token => memory.saveTokens({ ...memory.tokens(), access_token: token }),
                close: () => client.close()
            };
        },
        credentials: credentials && (async resource => {
            const client = await connect(resource, credentials());
            const name = await nameIn(client);
            await client.close();
            return name;
        })
    };
}

/** The bridge `mcp-remote`, which opens a browser. It remembers authorizations in files. */
export function bridge(label, { Client, Transport, script }) {
    const start = async (resource, more, onLine) => {
        const place = fs.mkdtempSync(path.join(os.tmpdir(), 'moongate-oauth-'));
        process.on('exit', () => fs.rmSync(place, { recursive: true, force: true }));
        const transport = new Transport({
            command: process.execPath,
            args: [script, resource, '--allow-http', '--transport', 'http-only', ...more],
            // Without a desktop, the browser is the program in `BROWSER`. The test takes the address from the log.
            env: { PATH: process.env.PATH, HOME: place, MCP_REMOTE_CONFIG_DIR: place, BROWSER: 'true' },
            stderr: 'pipe'
        });
        const log = [];
        readline.createInterface(transport.stderr).on('line', line => {
            log.push(line);
            onLine(line);
        });
        const client = new Client(INFO);
        await client.connect(transport).catch(error => {
            throw new Error(`${error.message}: ${log.join('\n')}`);
        });
        return { client, place };
    };
    const nameIn = async client => (await client.callTool(TOOL)).structuredContent.principal;
    return {
        label,
        open: async resource => {
            const session = { signIns: 0 };
            const { client, place } = await start(resource, ['--host', '127.0.0.1'], line => {
                if (line.startsWith('http') && line.includes('redirect_uri=')) {
                    session.signIns += 1;
                    approve(line.trim(), resource).then(fetch).catch(error => console.error(error));
                }
            });
            session.callerName = () => nameIn(client);
            session.replaceToken = token => {
                const files = fs.readdirSync(place, { recursive: true }).filter(file => file.endsWith('_tokens.json'));
                assert.equal(files.length, 1, files.join());
                const file = path.join(place, files[0]);
                const kept = JSON.parse(fs.readFileSync(file, 'utf8'));
                fs.writeFileSync(file, JSON.stringify({ ...kept, access_token: token }));
            };
            session.close = () => client.close();
            return session;
        },
        credentials: async resource => {
            const secret = JSON.stringify({ client_id: 'machine', client_secret: 'machine-secret' });
            const more = ['--client-credentials', '--static-oauth-client-info', secret];
            const { client } = await start(resource, more, () => {});
            const name = await nameIn(client);
            await client.close();
            return name;
        }
    };
}

/**
 * A client in another language. It writes its label, then reads a command from each line of its standard input and
 * answers with a line of JSON: `open RESOURCE`, `credentials RESOURCE`, `name`, `replace TOKEN`, `close`. If the person
 * has to sign in, it writes `{"sign_in": ADDRESS}` and reads the address of the callback from the next line.
 */
export async function program(command, args) {
    const child = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });
    process.on('exit', () => child.kill());
    const lines = readline.createInterface(child.stdout)[Symbol.asyncIterator]();
    const next = async () => {
        const { value, done } = await lines.next();
        assert.ok(!done, `${command} ended`);
        return JSON.parse(value);
    };
    const write = line => child.stdin.write(`${line}\n`);
    let session;
    const ask = async (line, resource) => {
        write(line);
        for (;;) {
            const answer = await next();
            if (answer.error) {
                throw new Error(answer.error);
            }
            if (!answer.sign_in) {
                return answer;
            }
            session.signIns += 1;
            write(await approve(answer.sign_in, resource));
        }
    };
    const { label } = await next();
    return {
        label,
        open: async resource => {
            session = {
                signIns: 0,
                callerName: async () => (await ask('name', resource)).name,
                replaceToken: token => ask(`replace ${token}`),
                close: () => ask('close')
            };
            await ask(`open ${resource}`, resource);
            return session;
        },
        credentials: async resource => (await ask(`credentials ${resource}`)).name
    };
}
