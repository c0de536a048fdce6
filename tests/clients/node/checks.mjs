// The checks of every Node client, one per capability, independent of the SDK.
//
// A check takes a `Connection` (see `connections.mjs`) and throws on failure. If the client or its revision doesn't
// support the capability, the check throws `Unsupported` with the reason, and if it doesn't support a part, the check returns
// the reason. Names and texts come from the fixture `everything` and the zoo.

import assert from 'node:assert/strict';
import fs from 'node:fs';
import process from 'node:process';

/** An unsupported capability, with the reason. */
export class Unsupported extends Error {}

/** The answers from the user, the model and the host. */
export const ROOT = { uri: 'file:///garden', name: 'garden' };
export const ANSWERS = {
    'elicitation/create': params => ({ action: 'accept', content: filled(params.requestedSchema) }),
    'sampling/createMessage': () => ({
        role: 'assistant',
        content: { type: 'text', text: 'Paris' },
        model: 'a-model',
        stopReason: 'endTurn'
    }),
    'roots/list': () => ({ roots: [ROOT] })
};

/** The components that replace a plugin's file in turn, each with a tool and its arguments. */
const REPLACEMENTS = [
    { component: 'plugins/dist/time.wasm', tool: 'replaced_get_current_time', args: { timezone: 'UTC' } },
    { component: 'plugins/dist/stateful.wasm', tool: 'replaced_note', args: { key: 'new' } }
];

/** A completed form: each field with its default or first valid value. */
function filled(schema) {
    const first = field => {
        if (field.default !== undefined) {
            return field.default;
        }
        const choice = field.enum?.[0] ?? (field.oneOf ?? field.anyOf)?.[0]?.const;
        if (choice !== undefined) {
            return choice;
        }
        const plain = { array: () => [first(field.items)], boolean: () => true, integer: () => 1, number: () => 1 };
        return plain[field.type]?.() ?? 'Ada';
    };
    return Object.fromEntries(Object.entries(schema.properties).map(([name, field]) => [name, first(field)]));
}

export const CHECKS = {
    list: async connection => {
        const tools = await connection.tools();
        const simple = tools.find(tool => tool.name === 'test_simple_text');
        assert.ok(simple, `listed ${named(tools)}`);
        assert.ok(tools.every(tool => tool.description && tool.inputSchema.type === 'object'));
        const schema = tools.find(tool => tool.name === 'json_schema_2020_12_tool').inputSchema;
        assert.equal(schema.$defs.address.$anchor, 'addressDef');
        assert.ok(named(await connection.resources(), 'uri').includes('test://static-text'));
        assert.deepEqual(named(await connection.templates(), 'uriTemplate').slice(0, 1), ['test://template/{id}/data']);
        assert.ok(named(await connection.prompts()).includes('test_prompt_with_arguments'));
    },
    call: async connection => {
        const text = await connection.call('test_simple_text');
        assert.equal(textOf(text), 'This is a simple text response for testing.');
        const { content } = await connection.call('test_multiple_content_types');
        assert.deepEqual(content.map(block => block.type), ['text', 'image', 'resource']);
        await audio(connection);
        const failed = await connection.call('test_error_handling');
        assert.equal(failed.isError, true);
        await structured(connection);
        await assert.rejects(connection.call('no_such_tool'), error => error.code === -32602);
        await manyAtOnce(connection);
        const missing = [await unreadable(connection), await mirrored(connection)];
        return missing.filter(Boolean).join('; ') || undefined;
    },
    read: async connection => {
        const one = async uri => (await connection.read(uri)).contents[0];
        assert.equal((await one('test://static-text')).text, 'This is the content of the static text resource.');
        const image = await one('test://static-binary');
        assert.equal(image.mimeType, 'image/png');
        assert.ok(Buffer.from(image.blob, 'base64').includes('PNG'));
        assert.equal(JSON.parse((await one('test://template/123/data')).text).id, '123');
        // The code changed in 2026-07-28; the SDK 2.x has its own for both.
        await assert.rejects(connection.read('test://nothing'), error => [-32002, -32602].includes(error.code));
    },
    get: async connection => {
        const simple = await connection.get('test_simple_prompt');
        assert.equal(simple.messages[0].content.text, 'This is a simple prompt for testing.');
        const full = await connection.get('test_prompt_with_arguments', { arg1: 'a', arg2: 'b' });
        assert.equal(full.messages[0].content.text, "Prompt with arguments: arg1='a', arg2='b'");
        const image = await connection.get('test_prompt_with_image');
        assert.equal(image.messages[0].content.type, 'image');
        const held = await connection.get('test_prompt_with_embedded_resource', { resourceUri: 'test://held' });
        assert.equal(held.messages[0].content.resource.uri, 'test://held');
        await assert.rejects(connection.get('test_prompt_with_arguments', {}), error => error.code === -32602);
    },
    complete: async connection => {
        const { completion } = await connection.complete('test_prompt_with_arguments', 'arg1', 'te');
        assert.deepEqual(completion.values, ['test', 'testing', 'tested']);
    },
    progress: async connection => {
        const all = [[0, 100], [50, 100], [100, 100]];
        let seen = [];
        // The SDKs handle a response before notifications that arrive together with it, and drop those. On a busy
        // machine all can arrive together, so another call may show them.
        for (let calls = 0; calls < 5 && seen.length < all.length - 1; calls += 1) {
            seen = [];
            const onprogress = ({ progress, total }) => seen.push([progress, total]);
            await connection.call('test_tool_with_progress', {}, { onprogress });
        }
        assert.ok(seen.length >= all.length - 1, `saw ${JSON.stringify(seen)}`);
        assert.deepEqual(seen, all.slice(0, seen.length));
    },
    logging: async connection => {
        const wanted = ['Tool execution started', 'Tool processing data', 'Tool execution completed'];
        const { logs } = connection.seen;
        logs.length = 0;
        await connection.callLogged('debug', 'test_tool_with_logging');
        await connection.seen.until(() => logs.length >= wanted.length, 'the log messages');
        assert.deepEqual(logs.map(log => log.data), wanted);
        assert.ok(logs.every(log => log.level === 'info'));
        logs.length = 0;
        await connection.callLogged('error', 'test_logging_tool');
        await connection.seen.until(() => logs.length > 0, 'the log message');
        assert.deepEqual(logs.map(log => log.level), ['error']);
        logs.length = 0;
        await connection.callLogged('error', 'zoo_cut_emoji');
        await connection.seen.until(() => logs.length > 0, 'the log message that was cut');
        assert.deepEqual(logs.map(log => log.data), ['cut \ufffd']);
    },
    elicitation: async connection => {
        if (connection.revision < '2025-06-18') {
            throw new Unsupported("the revision doesn't support it");
        }
        const ask = async (name, args) => {
            connection.seen.asked.length = 0;
            const text = textOf(await connection.call(name, args));
            return [text, connection.seen.asked.map(({ params }) => params)];
        };
        const [text, [params]] = await ask('test_elicitation', { message: 'Who are you?' });
        assert.ok(params.message.includes('Who are you?'), params.message);
        assert.match(text, /accept.*Ada/);
        connection.seen.answer = { 'elicitation/create': () => ({ action: 'decline' }) };
        const [declined] = await ask('test_elicitation', { message: 'Who are you?' });
        connection.seen.answer = {};
        assert.match(declined, /decline/);
        const [defaults] = await ask('test_elicitation_sep1034_defaults');
        // Defaults of fields other than booleans are new in 2025-11-25.
        assert.match(defaults, connection.revision < '2025-11-25' ? /accept/ : /John Doe/);
        const [enums] = await ask('test_elicitation_sep1330_enums');
        // So is multiple choice; the plugin gets an error that it isn't supported.
        assert.match(enums, connection.revision < '2025-11-25' ? /several values/ : /accept/);
        const [hello] = await ask('test_input_required_result_elicitation');
        assert.equal(hello, 'Hello, Ada!');
        const [, rounds] = await ask('test_input_required_result_multi_round');
        assert.equal(rounds.length, 2);
        const prompt = await connection.get('test_input_required_result_prompt');
        assert.match(prompt.messages[0].content.text, /Ada/);
    },
    sampling: async connection => {
        connection.seen.asked.length = 0;
        const prompt = 'What is the capital of France?';
        assert.match(textOf(await connection.call('test_sampling', { prompt })), /Paris/);
        const [{ method, params }] = connection.seen.asked;
        assert.equal(method, 'sampling/createMessage');
        assert.equal([params.messages[0].content].flat()[0].text, prompt);
        assert.equal(params.maxTokens, 100);
        assert.match(textOf(await connection.call('test_input_required_result_sampling')), /Paris/);
    },
    roots: async connection => {
        const text = textOf(await connection.call('test_input_required_result_list_roots'));
        assert.ok(text.includes(ROOT.uri), text);
        if (connection.revision >= '2025-06-18') {
            connection.seen.asked.length = 0;
            await connection.call('test_input_required_result_multiple_inputs');
            const methods = connection.seen.asked.map(({ method }) => method).sort();
            assert.deepEqual(methods, ['elicitation/create', 'roots/list', 'sampling/createMessage']);
        }
    },
    cancel: async connection => {
        if (connection.unsupported.cancel) {
            throw new Unsupported(connection.unsupported.cancel);
        }
        const cancel = new AbortController();
        const hanging = connection.call('zoo_report_and_hang', {}, {
            onprogress: () => cancel.abort('not wanted any more'),
            signal: cancel.signal
        });
        await assert.rejects(hanging, error => !(error instanceof assert.AssertionError));
        assert.ok(cancel.signal.aborted, 'it ended before it was cancelled');
        // The zoo runs one call at a time, so this one runs only after the other has ended.
        assert.equal(textOf(await connection.call('zoo_echo', { text: 'free' })), 'free');
    },
    list_changed: async connection => {
        const { changed } = connection.seen;
        const listening = await connection.listen({ toolsListChanged: true, promptsListChanged: true });
        for (const kind of ['tools', 'prompts']) {
            const before = named(await connection[kind]());
            changed.delete(kind);
            await connection.call(`test_trigger_${kind.slice(0, -1)}_change`);
            let after = before;
            // Another gateway may have the new list later, and then there is another notification.
            while (`${after}` === `${before}`) {
                await connection.seen.until(() => changed.has(kind), `the news of ${kind}`);
                changed.delete(kind);
                after = named(await connection[kind]());
            }
        }
        await listening.close();
    },
    subscriptions: async connection => {
        const { changed } = connection.seen;
        changed.clear();
        const subscribed = await connection.subscribe('zoo://text');
        await connection.call('zoo_changes_flood', { count: 100 });
        await connection.seen.until(() => changed.has('zoo://text'), 'the notification of the resource');
        // Notifications of an earlier check's lists may arrive only now.
        const others = [...changed].filter(what => !['zoo://text', 'tools', 'prompts'].includes(what));
        assert.deepEqual(others, [], 'unexpected change notifications');
        await subscribed.close();
    },
    replaced: async connection => {
        const { changed } = connection.seen;
        const listening = await connection.listen({ toolsListChanged: true });
        const before = named(await connection.tools());
        const [old, { component, tool, args }] = before.includes(REPLACEMENTS[0].tool) ? REPLACEMENTS : REPLACEMENTS.toReversed();
        assert.ok(before.includes(old.tool), `listed ${before}`);
        changed.delete('tools');
        const file = process.env.MOONGATE_REPLACED;
        fs.copyFileSync(component, `${file}.new`);
        fs.renameSync(`${file}.new`, file);
        let after = before;
        // Notifications of an earlier check's changes may arrive only now.
        while (!after.includes(tool)) {
            await connection.seen.until(() => changed.has('tools'), 'the news of the other tools');
            changed.delete('tools');
            after = named(await connection.tools());
        }
        assert.ok(!after.includes(old.tool), `still lists ${old.tool}`);
        assert.ok(!(await connection.call(tool, args)).isError, `${tool} can't be called`);
        await listening.close();
    }
};

/** Audio content exists since 2025-03-26; earlier revisions get a replacement. */
async function audio(connection) {
    const { content } = await connection.call('test_audio_content');
    assert.equal(content[0].type, connection.revision >= '2025-03-26' ? 'audio' : 'text');
}

/** A structured result, which exists since 2025-06-18, equals its text. */
async function structured(connection) {
    const result = await connection.call('zoo_echo_context');
    const parsed = JSON.parse(textOf(result));
    assert.equal(parsed.revision, connection.revision);
    assert.deepEqual(result.structuredContent, connection.revision >= '2025-06-18' ? parsed : undefined);
}

async function manyAtOnce(connection) {
    const one = async number => {
        const args = { name: `n${number}`, contactMethod: 'email', email: `n${number}@example.com` };
        const result = await connection.call('json_schema_2020_12_tool', args);
        assert.equal(textOf(result), `Called with ${JSON.stringify(args)}`);
    };
    await Promise.all(Array.from({ length: 32 }, (_, number) => one(number)));
}

/** Text that was cut inside an emoji reaches the tool, and a message above the limits fails before the time-out. */
async function unreadable(connection) {
    const cut = await connection.call('zoo_echo', { text: 'cut \ud83d' });
    assert.equal(textOf(cut), 'cut \ufffd');
    if (connection.unsupported.oversized) {
        return connection.unsupported.oversized;
    }
    const started = performance.now();
    await assert.rejects(connection.call('zoo_echo', { text: 'x'.repeat(11 << 20) }));
    assert.ok(performance.now() - started < 30_000, 'the call waited for its time-out');
    assert.equal(textOf(await connection.call('zoo_echo', { text: 'next' })), 'next');
}

/** An argument that is also sent as a header, in revisions that have this. */
async function mirrored(connection) {
    if (connection.unsupported.mirrored) {
        return connection.unsupported.mirrored;
    }
    const result = await connection.call('test_x_mcp_header', { region: 'north', level: 3 });
    assert.equal(textOf(result), 'region=north, level=3');
}

const named = (list, key = 'name') => list.map(one => one[key]);
const textOf = result => result.content.filter(block => block.type === 'text').map(block => block.text).join('');
