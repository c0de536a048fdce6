// Keeps the status page up to date. The gateway renders every section; this only puts newer ones in their place.
"use strict";

const notice = document.getElementById("notice");
const RETRY_MILLISECONDS = 3000;
const MAX_LINES = 5;
let events = null;
let retry = null;
let isLost = false;
let isReloading = false;

// Replaces the content of a section. Open details stay open, and the focus stays where it is.
function replace(section, content) {
  const selection = document.getSelection();
  if (selection && !selection.isCollapsed && section.contains(selection.anchorNode)) {
    return; // the user is copying from it
  }
  const open = new Map([...section.querySelectorAll("details")].map((details) => [details.id, details.open]));
  const focused = section.contains(document.activeElement) ? position(section, document.activeElement) : null;
  section.innerHTML = content;
  for (const details of section.querySelectorAll("details")) {
    details.open = open.get(details.id) ?? details.open;
  }
  if (focused) {
    [...section.querySelectorAll(focused.selector)][focused.index]?.focus({ preventScroll: true });
  }
}

function position(section, element) {
  const selector = element.tagName.toLowerCase();
  return { selector, index: [...section.querySelectorAll(selector)].indexOf(element) };
}

function connect() {
  disconnect();
  events = new EventSource("events");
  for (const section of document.querySelectorAll("[data-live]")) {
    events.addEventListener(section.id, (event) => replace(section, event.data));
  }
  events.onopen = () => {
    if (isLost) {
      isLost = false;
      show([]);
    }
  };
  events.onerror = () => {
    if (!isLost) {
      isLost = true;
      show(["The connection to the gateway was lost. Reconnecting…"]);
    }
    if (events?.readyState === EventSource.CLOSED) {
      disconnect();
      retry = setTimeout(connect, RETRY_MILLISECONDS);
    }
  };
}

function disconnect() {
  clearTimeout(retry);
  events?.close();
  events = null;
}

// Shows lines in the notice, as text. Parts in backticks are code.
function show(lines) {
  notice.replaceChildren();
  if (lines.length === 1) {
    write(notice, lines[0]);
  } else if (lines.length > 1) {
    const list = document.createElement("ul");
    for (const line of lines) {
      const item = document.createElement("li");
      write(item, line);
      list.append(item);
    }
    notice.append(list);
  }
}

function write(element, line) {
  for (const [at, part] of line.split("`").entries()) {
    element.append(at % 2 === 1 ? Object.assign(document.createElement("code"), { textContent: part }) : part);
  }
}

async function reload() {
  const headers = { "Content-Type": "application/json" };
  const response = await fetch("reload", { method: "POST", headers, body: "{}" });
  const answer = await response.json();
  if (!response.ok) {
    return [`The reload failed: ${answer.error}`];
  }
  const lines = [
    ...answer.failed.map((line) => `failed: ${line}`),
    ...answer.needs_restart.map((key) => `needs a restart: ${key}`),
    ...answer.changed,
  ];
  if (lines.length > MAX_LINES) {
    const more = lines.length - MAX_LINES;
    lines.splice(MAX_LINES, more, `and ${more} more, under Reloads`);
  }
  return lines.length === 0 ? ["Reloaded. Nothing changed."] : lines;
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  if (isReloading) {
    return;
  }
  isReloading = true;
  show(["Reloading…"]);
  try {
    show(await reload());
  } catch {
    show(["The reload failed: the gateway doesn't respond."]);
  } finally {
    isReloading = false;
  }
});

// A hidden page needs no updates.
document.addEventListener("visibilitychange", () => (document.hidden ? disconnect() : connect()));
connect();
