// UTF-8, which QuickJS has no class for.

const MASKS = [0, 0, 0x1f, 0x0f, 0x07];
const SMALLEST = [0, 0, 0x80, 0x800, 0x10000];

export const utf8 = {
    /** The bytes of a text; lone surrogates become U+FFFD. */
    encode(text) {
        const bytes = [];
        for (const char of String(text)) {
            let code = char.codePointAt(0);
            if (code >= 0xd800 && code <= 0xdfff) code = 0xfffd;
            if (code < 0x80) bytes.push(code);
            else if (code < 0x800) bytes.push(0xc0 | (code >> 6), 0x80 | (code & 63));
            else if (code < 0x10000) bytes.push(0xe0 | (code >> 12), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63));
            else {
                const tail = [0x80 | ((code >> 12) & 63), 0x80 | ((code >> 6) & 63), 0x80 | (code & 63)];
                bytes.push(0xf0 | (code >> 18), ...tail);
            }
        }
        return new Uint8Array(bytes);
    },

    /** The text of bytes; invalid bytes become U+FFFD. */
    decode(bytes) {
        let text = "";
        for (let at = 0; at < bytes.length; ) {
            const first = bytes[at];
            if (first < 0x80) {
                // Runs of ASCII, in chunks that `fromCharCode` accepts.
                let end = at + 1;
                while (end < bytes.length && end - at < 8192 && bytes[end] < 0x80) end += 1;
                text += String.fromCharCode(...bytes.subarray(at, end));
                at = end;
                continue;
            }
            const length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
            let code = first >= 0xc2 && first <= 0xf4 ? first & MASKS[length] : -1;
            let used = 1;
            for (; code >= 0 && used < length; used += 1) {
                const next = bytes[at + used];
                if (next === undefined || (next & 0xc0) !== 0x80) {
                    code = -1;
                    break;
                }
                code = (code << 6) | (next & 63);
            }
            const valid = code >= SMALLEST[length] && code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
            text += valid ? String.fromCodePoint(code) : "\ufffd";
            at += used;
        }
        return text;
    },
};
