// Schemas of arguments, results, forms and settings: a small builder for JSON Schema, whose types TypeScript infers.

/** A JSON Schema, and whether a member with it can be left out. */
export class Schema {
    constructor(json, isOptional = false) {
        this.json = json;
        this.isOptional = isOptional;
    }

    /** The member can be left out. */
    optional() {
        return new Schema(this.json, true);
    }

    /** The member can be left out, and then has this value. */
    default(value) {
        return new Schema({ ...this.json, default: value }, true);
    }

    /** The value can be `null`. */
    nullable() {
        const { type, enum: choices, ...rest } = this.json;
        if (typeof type !== "string") return new Schema({ anyOf: [this.json, { type: "null" }] }, this.isOptional);
        const json = { ...rest, type: [type, "null"], ...(choices && { enum: [...choices, null] }) };
        return new Schema(json, this.isOptional);
    }

    /** Sets the description. */
    describe(description) {
        return new Schema({ ...this.json, description }, this.isOptional);
    }

    toJSON() {
        return this.json;
    }
}

/** A type with options: a description, or keywords of JSON Schema. */
const typed = (json) => (options = {}) =>
    new Schema({ ...json, ...(typeof options === "string" ? { description: options } : options) });

/** Builds schemas: `s.string("The city.")`, `s.integer({ minimum: 1 }).default(3)`. */
export const s = {
    string: typed({ type: "string" }),
    number: typed({ type: "number" }),
    integer: typed({ type: "integer" }),
    boolean: typed({ type: "boolean" }),
    any: typed({}),
    /** One of these values. */
    enum: (values, options) => typed({ ...(values.every((one) => typeof one === "string") && { type: "string" }), enum: values })(options),
    array: (items, options) => typed({ type: "array", items: items.json })(options),
    object: (members, options) => typed(objectSchema(members))(options),
    /** An object with any keys and values of one type. */
    record: (values, options) => typed({ type: "object", additionalProperties: values.json })(options),
    union: (schemas, options) => typed({ anyOf: schemas.map((one) => one.json) })(options),
    /** A JSON Schema by hand. */
    json: (json) => new Schema(json),
};

/** The JSON Schema of an object with these members. */
export function objectSchema(members) {
    const named = Object.entries(members);
    const required = named.filter(([, member]) => !member.isOptional).map(([name]) => name);
    return {
        type: "object",
        properties: Object.fromEntries(named.map(([name, member]) => [name, member.json])),
        ...(required.length > 0 && { required }),
        additionalProperties: false,
    };
}

/** The JSON Schema of members, of a `Schema`, or by hand. */
export function toJson(schema) {
    if (schema instanceof Schema) return schema.json;
    const values = Object.values(schema);
    return values.every((value) => value instanceof Schema) ? objectSchema(schema) : schema;
}

/** Sets members of an object that are absent and have a default. */
export function withDefaults(json, value) {
    for (const [name, { default: initial }] of Object.entries(json?.properties ?? {})) {
        if (value[name] === undefined && initial !== undefined) value[name] = structured(initial);
    }
    return value;
}

const structured = (value) => JSON.parse(JSON.stringify(value));

/** How a value differs from a schema in types, required members and enumerations, or `undefined`. */
export function mismatch(json, value, at = "") {
    const kinds = [json.type ?? []].flat();
    const is = {
        string: typeof value === "string",
        boolean: typeof value === "boolean",
        number: Number.isFinite(value),
        integer: Number.isInteger(value),
        null: value === null,
        array: Array.isArray(value),
        object: typeof value === "object" && value !== null && !Array.isArray(value),
    };
    if (kinds.length > 0 && !kinds.some((kind) => is[kind])) return `\`${at || "/"}\` must be ${kinds.join(" or ")}`;
    if (json.enum && !json.enum.includes(value)) return `\`${at || "/"}\` must be one of ${JSON.stringify(json.enum)}`;
    if (json.anyOf?.every((one) => mismatch(one, value, at))) return `\`${at || "/"}\` matches none of the possible types`;
    if (is.object) {
        const absent = json.required?.find((name) => value[name] === undefined);
        if (absent) return `\`${at}/${absent}\` is missing`;
        for (const [name, inner] of Object.entries(value)) {
            const member = json.properties?.[name];
            if (!member && json.additionalProperties === false) return `\`${at}/${name}\` isn't in the schema`;
            const problem = member && inner !== undefined && mismatch(member, inner, `${at}/${name}`);
            if (problem) return problem;
        }
    }
    if (is.array && json.items) {
        for (const [index, inner] of value.entries()) {
            const problem = mismatch(json.items, inner, `${at}/${index}`);
            if (problem) return problem;
        }
    }
    return undefined;
}
