// A real authorization server, `oidc-provider`, whose keys can change, whose tokens can expire or be revoked, and which
// can be down; and a person who signs in on its pages.

import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import http from 'node:http';

/** The scope that the gateway requires. */
export const SCOPE = 'mcp:use';

/** The lifetime of access tokens in seconds. */
const LIFETIME = 300;

/** Longer ago than the difference between clocks that the gateway allows. */
const EXPIRED_SINCE = 120;

/** Starts a server on a free port. */
export function listen(handler) {
    const server = http.createServer(handler);
    return new Promise(resolve =>
        server.listen(0, '127.0.0.1', () => resolve({ server, origin: `http://127.0.0.1:${server.address().port}` }))
    );
}

/** New private keys of every kind. */
function newKeys(generation) {
    const key = (type, options, alg) => ({
        ...generateKeyPairSync(type, options).privateKey.export({ format: 'jwk' }),
        use: 'sig',
        alg,
        kid: `${alg}-${generation}`
    });
    return [
        key('rsa', { modulusLength: 2048 }, 'RS256'),
        key('ec', { namedCurve: 'P-256' }, 'ES256'),
        key('ed25519', {}, 'EdDSA')
    ];
}

/** A client that the server knows. */
function client(id, grants, method = 'client_secret_basic') {
    return {
        client_id: id,
        client_secret: `${id}-secret`,
        grant_types: grants,
        redirect_uris: [],
        response_types: [],
        token_endpoint_auth_method: method
    };
}

/** What the server stores, with the interface of `oidc-provider`'s adapters. Nothing expires during a test. */
function storage() {
    const stored = new Map();
    return class {
        constructor(kind) {
            this.kind = kind;
        }
        #find = so => [...stored.values()].find(kept => kept.kind === this.kind && so(kept.payload))?.payload;
        find = async id => stored.get(`${this.kind} ${id}`)?.payload;
        findByUid = async uid => this.#find(payload => payload.uid === uid);
        findByUserCode = async code => this.#find(payload => payload.userCode === code);
        upsert = async (id, payload) => void stored.set(`${this.kind} ${id}`, { kind: this.kind, payload });
        destroy = async id => void stored.delete(`${this.kind} ${id}`);
        consume = async id => void ((await this.find(id)).consumed = Math.floor(Date.now() / 1000));
        revokeByGrantId = async grantId => {
            for (const [key, { payload }] of stored) {
                if (payload.grantId === grantId) {
                    stored.delete(key);
                }
            }
        };
    };
}

/** The server. Its clients, people and tokens outlive a change of its keys. */
export class AuthorizationServer {
    #Provider;
    #resources;
    #handle;
    #adapter = storage();
    #generation = 0;
    #expired = false;
    #outage = () => false;
    #refreshes = 0;

    /** Starts it. `resources` are those that it knows, with the algorithm of their tokens (none for opaque tokens). */
    static async start(Provider, resources) {
        const server = new AuthorizationServer();
        server.#Provider = Provider;
        server.#resources = resources;
        const { origin } = await listen((request, response) => {
            if (server.#outage(request.url)) {
                request.socket.destroy();
                return;
            }
            server.#handle(request, response);
        });
        server.issuer = origin;
        server.changeKeys();
        return server;
    }

    /** Signs with other keys from now on, and publishes only these. */
    changeKeys() {
        this.#generation += 1;
        const provider = new this.#Provider(this.issuer, {
            adapter: this.#adapter,
            jwks: { keys: newKeys(this.#generation) },
            clients: [
                client('machine', ['client_credentials']),
                client('machine-post', ['client_credentials'], 'client_secret_post'),
                client('gateway', [])
            ],
            scopes: ['openid', 'offline_access', SCOPE],
            // Also to clients that don't ask for `offline_access`, as many authorization servers do.
            issueRefreshToken: (_, known) => known.grantTypeAllowed('refresh_token'),
            formats: {
                customizers: {
                    jwt: (_, __, token) => {
                        if (this.#expired) {
                            token.payload.iat -= LIFETIME + EXPIRED_SINCE;
                            token.payload.exp -= LIFETIME + EXPIRED_SINCE;
                        }
                    }
                }
            },
            features: {
                clientCredentials: { enabled: true },
                devInteractions: { enabled: true },
                introspection: { enabled: true, allowedPolicy: () => true },
                registration: { enabled: true },
                revocation: { enabled: true },
                resourceIndicators: {
                    enabled: true,
                    useGrantedResource: () => true,
                    getResourceServerInfo: (_, resource) => this.#resourceServer(resource)
                }
            }
        });
        provider.on('grant.success', ({ oidc }) => {
            if (oidc.params.grant_type === 'refresh_token') {
                this.#refreshes += 1;
            }
        });
        this.#handle = provider.callback();
    }

    #resourceServer(resource) {
        const known = this.#resources.find(known => known.resource === resource);
        assert.ok(known, `unknown resource ${resource}`);
        return {
            scope: SCOPE,
            audience: resource,
            accessTokenTTL: LIFETIME,
            accessTokenFormat: known.alg ? 'jwt' : 'opaque',
            jwt: { sign: { alg: known.alg } }
        };
    }

    /** The number of refreshed tokens. */
    get refreshes() {
        return this.#refreshes;
    }

    /** Closes all connections for requests to these paths: `all`, `introspection` or `none`. */
    setOutage(paths) {
        const outages = { all: () => true, introspection: url => url.endsWith('/introspection'), none: () => false };
        assert.ok(paths in outages, paths);
        this.#outage = outages[paths];
    }

    /** A token that isn't valid any more: a JWT has expired, and an opaque token was revoked. */
    async invalidToken(resource) {
        const send = (path, fields) =>
            fetch(new URL(path, this.issuer), {
                method: 'POST',
                headers: { authorization: `Basic ${btoa('machine:machine-secret')}` },
                body: new URLSearchParams(fields)
            });
        this.#expired = true;
        const response = await send('/token', { grant_type: 'client_credentials', scope: SCOPE, resource });
        this.#expired = false;
        const { access_token: token } = await response.json();
        assert.ok(token, `no token: ${response.status}`);
        if (!token.includes('.')) {
            assert.equal((await send('/token/revocation', { token })).status, 200);
        }
        return token;
    }
}

/** Signs in on the server's own pages, like a person with a browser; returns the address of the client's callback. */
export async function signIn(address) {
    const cookies = new Map();
    let url = new URL(address);
    const callback = url.searchParams.get('redirect_uri');
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
            if (url.href.startsWith(callback)) {
                return url;
            }
            continue;
        }
        const page = await response.text();
        const action = page.match(/<form[^>]* action="([^"]+)"/)?.[1];
        assert.ok(action, `no form: ${response.status} ${page.slice(0, 500)}`);
        const hidden = page.matchAll(/<input[^>]* type="hidden"[^>]* name="([^"]+)"[^>]* value="([^"]*)"/g);
        form = new URLSearchParams([...hidden].map(([, name, value]) => [name, value]));
        if (page.includes('name="login"')) {
            form.set('login', 'ann');
            form.set('password', 'any');
        }
        url = new URL(action, url);
    }
    throw new Error('the authorization server never redirected to the client');
}
