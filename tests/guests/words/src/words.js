// The exports of the world `words`, with JavaScript names. A function that throws returns the error of its `result`.

function count(text) {
    const counts = new Map();
    for (const word of text.toLowerCase().match(/\p{L}+/gu) ?? []) {
        counts.set(word, (counts.get(word) ?? 0) + 1);
    }
    return [...counts].map(([text, count]) => ({ text, count }));
}

export function countWords(text, order) {
    const words = count(text);
    if (words.length === 0) throw "the text contains no words";
    const byText = (a, b) => (a.text < b.text ? -1 : 1);
    return words.sort(order === "frequency" ? (a, b) => b.count - a.count || byText(a, b) : byText);
}

export function longestWord(text) {
    return count(text).sort((a, b) => b.text.length - a.text.length)[0];
}

export function shout(text) {
    return `${text.toUpperCase()}!`;
}
