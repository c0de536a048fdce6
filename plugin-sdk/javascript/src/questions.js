// Questions to the client: a form or page for the user, a message for its model, or its list of directories.
//
// Ask them with `ctx.ask`. The call then ends, and starts again from the top with the answer. Ask first, act afterwards.

import { blocks, fromJson, toJson } from "./content.js";
import { ToolError } from "./errors.js";
import { mismatch, objectSchema } from "./schema.js";

/** Thrown by `ctx.ask` to end the function. Don't catch it. */
export class NeedInput {
    constructor(requests) {
        this.requests = requests;
        this.message = "this isn't an error: the call asks the client and starts again with the answer; throw it again";
    }
}

/**
 * Asks the user to fill in a form with these fields. If the user declines, the call fails; with `mayDecline`, the answer is
 * `{ action, value }` instead.
 */
export function form(message, fields, { mayDecline = false } = {}) {
    const schema = objectSchema(fields);
    const { additionalProperties: _, ...requestedSchema } = schema;
    return {
        method: "elicitation/create",
        params: { mode: "form", message, requestedSchema },
        read(answer) {
            const decision = decide(answer);
            const problem = decision.action === "accept" && mismatch(schema, decision.value);
            if (problem) throw new ToolError(`the client's answer isn't the content of the form: ${problem}`);
            return mayDecline ? decision : accepted(message, decision);
        },
    };
}

/** Asks the user to open a page, for example to log in. */
export function page(message, url, { mayDecline = false } = {}) {
    return {
        method: "elicitation/create",
        params: { mode: "url", message, url },
        read(answer) {
            const { action } = decide(answer);
            return mayDecline ? { action } : accepted(message, { action });
        },
    };
}

/** Asks the client's model. `messages` is a text, or several messages; `options` are other parameters of MCP's method. */
export function sampling(messages, { maxTokens, ...options }) {
    const list = typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
    const written = list.map(({ role, content }) => ({ role, content: toJson(blocks(content)[0]) }));
    return {
        method: "sampling/createMessage",
        params: { messages: written, maxTokens, ...options },
        read(answer) {
            if (!answer?.content || typeof answer.model !== "string") {
                throw new ToolError("the client's answer isn't a model's message");
            }
            const content = [answer.content].flat().map(fromJson);
            const texts = content.filter((block) => block.type === "text").map((block) => block.text);
            return { role: answer.role, content, model: answer.model, stopReason: answer.stopReason, text: texts.join("\n") };
        },
    };
}

/** Asks the client for its workspace directories. */
export function roots() {
    return {
        method: "roots/list",
        params: {},
        read(answer) {
            if (!Array.isArray(answer?.roots)) throw new ToolError("the client's answer isn't a list of roots");
            return answer.roots;
        },
    };
}

function decide(answer) {
    if (!["accept", "decline", "cancel"].includes(answer?.action)) {
        throw new ToolError("the client's answer isn't an answer to a question");
    }
    return { action: answer.action, value: answer.action === "accept" ? answer.content ?? {} : undefined };
}

function accepted(message, { action, value }) {
    if (action === "accept") return value;
    throw new ToolError(`the user ${action === "decline" ? "declined" : "dismissed"} the question "${message}"`);
}
