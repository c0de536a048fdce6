// The status page in Chromium: with no, a few and many plugins, live, by keyboard, on a narrow screen, with hostile texts,
// and from the pages of other origins.
//
//   node status_page.mjs PACKAGES GATEWAY MALFORMED [SCREENSHOTS]
//
// PACKAGES contains `node_modules`, MALFORMED is the component of that name, and SCREENSHOTS is a directory to write to.

import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { createRequire } from "node:module";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

const [packages, gateway, malformed, screenshots] = process.argv.slice(2);
const require = createRequire(join(packages, "package.json"));
const { chromium } = require("playwright-core");
const axe = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");

const TOKEN = "0123456789abcdef0123456789abcdef";
const STEP_MILLISECONDS = 10_000;
const COMPILE_MILLISECONDS = 90_000; // without cached code, and with a gateway that isn't optimised
const LISTEN = 'version = 1\n[http]\nlisten = "127.0.0.1:0"\n[admin]\nlisten = "127.0.0.1:0"\n';
const directory = mkdtempSync(join(tmpdir(), "moongate-browser-"));
const running = [];

// Starts a gateway with this configuration and waits until everything is loaded.
async function start(name, config) {
  const file = join(directory, `${name}.toml`);
  writeFileSync(file, config);
  const child = spawn(gateway, ["serve", "--config", file], { stdio: ["ignore", "ignore", "pipe"] });
  running.push(child);
  let log = "";
  await new Promise((resolve, reject) => {
    child.stderr.on("data", (data) => {
      log += data;
      if (/^serving /m.test(log)) resolve();
    });
    child.on("exit", () => reject(new Error(`the gateway ended: ${log}`)));
  });
  const url = (word) => log.match(new RegExp(`^${word} +(http\\S+)`, "m"))[1];
  return { file, child, endpoint: url("endpoint"), admin: url("admin") };
}

function call(server, tool, ...rest) {
  const called = spawnSync(gateway, ["call", "--url", server.endpoint, tool, ...rest], { encoding: "utf8" });
  return called.status;
}

// The component with its description's texts replaced by HTML of the same length.
function hostileComponent() {
  const bytes = readFileSync(malformed);
  for (const [text, html] of [
    ["plugin title", "<b injected>"],
    ["plugin description", '"><img src=x xxxx>'],
  ]) {
    const at = bytes.indexOf(text);
    assert.ok(at > 0 && html.length === text.length, text);
    for (let found = at; found >= 0; found = bytes.indexOf(text, found + 1)) {
      bytes.write(html, found);
    }
  }
  writeFileSync(join(directory, "hostile.wasm"), bytes);
}

// A page that records everything that would show that foreign content ran.
async function open(browser, url, options = {}) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  context.setDefaultTimeout(STEP_MILLISECONDS);
  const page = await context.newPage();
  page.problems = [];
  page.on("dialog", (dialog) => page.problems.push(`dialog: ${dialog.message()}`));
  page.on("pageerror", (error) => page.problems.push(`error: ${error}`));
  page.on("console", (line) => line.type() === "error" && page.problems.push(`console: ${line.text()}`));
  page.on("request", (request) => {
    if (!request.url().startsWith(url)) page.problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.violations = [];
    document.addEventListener("securitypolicyviolation", (event) => window.violations.push(event.blockedURI));
  });
  await page.goto(url);
  return page;
}

async function assertHarmless(page) {
  assert.deepEqual(page.problems, []);
  assert.deepEqual(await page.evaluate(() => window.violations), []);
  const injected = "main [injected], main img, main script, main iframe, main [onerror], main b";
  assert.equal(await page.locator(injected).count(), 0);
}

async function assertAccessible(page) {
  // The policy of the page forbids inline scripts, so the library is evaluated by the debugger.
  await page.evaluate(axe);
  const { violations } = await page.evaluate(() => window.axe.run(document, { resultTypes: ["violations"] }));
  const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
  const shown = serious.map(({ id, nodes }) => `${id}: ${nodes.slice(0, 3).map((node) => node.html).join(" ")}`);
  assert.deepEqual(shown, []);
}

async function assertFits(page, width) {
  await page.setViewportSize({ width, height: 800 });
  const wide = await page.evaluate(() => {
    const limit = document.documentElement.clientWidth;
    const isWide = (element) => element.getBoundingClientRect().right > limit + 1;
    const wide = [...document.querySelectorAll("main *")].filter(isWide).slice(0, 3);
    const names = wide.map((element) => `${element.tagName} ${element.className}: ${element.textContent.slice(0, 60)}`);
    return document.documentElement.scrollWidth > limit ? ["the page scrolls", ...names] : [];
  });
  assert.deepEqual(wide, []);
}

// Replaces the paths of this run, for pictures in the documentation.
async function hidePaths(page) {
  await page.evaluate((directory) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) {
      const text = texts.currentNode;
      if (text.data.includes(directory)) text.data = text.data.replaceAll(directory, "/etc/moongate");
    }
  }, directory);
}

async function screenshot(page, name, fullPage = true) {
  if (screenshots) await page.screenshot({ path: join(screenshots, `${name}.png`), fullPage });
}

let failed = 0;
async function check(name, test) {
  try {
    await test();
    console.log(`ok status page: ${name}`);
  } catch (error) {
    failed += 1;
    console.log(`FAILED status page: ${name}`);
    console.error(error);
  }
}

// Presses Tab until this element has the focus.
async function tabTo(page, selector) {
  for (let presses = 0; presses < 60; presses += 1) {
    await page.keyboard.press("Tab");
    if (await page.locator(`${selector}:focus`).count()) return;
  }
  assert.fail(`no focus on ${selector}`);
}

const SOME = `
[gateway]
watch = false
[plugins.time]
source = "builtin:time"
[plugins.clock]
source = "builtin:time"
reload = "pinned"
config = { local_timezone = "Europe/Berlin" }
[plugins.notes]
source = "builtin:filesystem"
allow.dirs = [{ host = "./notes", guest = "/notes" }]
[plugins.fetch]
source = "builtin:fetch"
allow.http = ["https://example.com", "https://api.example.org"]
[plugins.memory]
source = "builtin:memory"
allow.state = true
[plugins.thinking]
source = "builtin:sequential-thinking"
[plugins.hostile]
source = "hostile.wasm"
[plugins.broken]
source = "<img src=x onerror=alert(1)>.wasm"
`;

const browser = await chromium.launch({
  executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium",
  args: ["--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-component-update", "--disable-sync"],
});

try {
  hostileComponent();
  mkdirSync(join(directory, "notes"));
  writeFileSync(join(directory, "notes/a.txt"), "hello");
  writeFileSync(join(directory, "token"), TOKEN);
  writeFileSync(join(directory, "<img src=x onerror=alert(1)>.wasm"), "not a component");
  const server = await start("some", `${LISTEN}[gateway]\nwatch = false\n`);
  const page = await open(browser, server.admin);

  await check("no plugins", async () => {
    await page.getByText("No plugins are configured").waitFor();
    await screenshot(page, "none");
    await assertAccessible(page);
    await assertFits(page, 360);
    await page.setViewportSize({ width: 1280, height: 900 });
  });

  await check("keyboard and live updates", async () => {
    writeFileSync(server.file, LISTEN + SOME);
    await page.evaluate(() => document.activeElement.blur());
    await page.keyboard.press("Tab");
    assert.equal(await page.locator(":focus").textContent(), "Skip to content");
    await tabTo(page, "header button");
    await page.keyboard.press("Enter");
    await page.locator("#notice li", { hasText: "thinking added" }).first().waitFor({ timeout: COMPILE_MILLISECONDS });
    await page.locator("#plugins tbody tr").nth(7).waitFor();
    await page.locator("#summary", { hasText: "1 failed" }).waitFor();
    assert.equal(await page.locator("header button:focus").count(), 1, "the button keeps the focus");
    assert.equal(call(server, "time_get_current_time", "timezone=UTC"), 0);
    assert.notEqual(call(server, "fetch_fetch", "url=https://elsewhere.example/a"), 0);
    call(server, "notes_read_text_file", "path=/notes/missing");
    call(server, "time_get_current_time", "timezone=Nowhere");
    await page.locator("#calls tbody tr", { hasText: "time_get_current_time" }).first().waitFor();
    await page.locator("#tools tbody tr", { hasText: "time_get_current_time" }).first().waitFor();
    const refused = page.locator("#refused tbody tr", { hasText: "elsewhere.example" });
    await refused.first().waitFor();
    assert.match(await refused.first().textContent(), /\[plugins\.fetch\.allow\]/);
    await page.locator("#permissions", { hasText: "unused" }).waitFor();
  });

  await check("hostile texts", async () => {
    await page.locator("#plugins tbody tr", { hasText: "<b injected>" }).waitFor();
    assert.match(await page.locator("#summary .attention").textContent(), /<img src=x onerror=alert\(1\)>/);
    await assertHarmless(page);
  });

  await check("accessibility, light and dark", async () => {
    for (const colorScheme of ["light", "dark"]) {
      await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await screenshot(page, colorScheme);
      await assertAccessible(page);
    }
    await page.emulateMedia({ colorScheme: "light" });
    const nameless = await page.evaluate(() => {
      const tables = [...document.querySelectorAll("table")];
      return tables.filter((table) => !document.getElementById(table.getAttribute("aria-labelledby"))).length;
    });
    assert.equal(nameless, 0);
  });

  await check("360 pixels", async () => {
    await assertFits(page, 360);
    await screenshot(page, "narrow");
    await assertAccessible(page);
  });

  await check("details stay open", async () => {
    const details = page.locator("#sheet-notes");
    await details.locator("summary").click();
    const isOpen = await details.evaluate((element) => element.open);
    assert.equal(call(server, "notes_list_allowed_directories"), 0);
    assert.equal(call(server, "notes_list_directory", "path=/notes"), 0);
    await page.locator("#calls tbody tr", { hasText: "notes_list_directory" }).first().waitFor();
    assert.equal(await details.evaluate((element) => element.open), isOpen);
  });

  await check("without scripts", async () => {
    const plain = await open(browser, server.admin, { javaScriptEnabled: false });
    assert.equal(await plain.locator("#plugins tbody tr").count(), 8);
    await plain.locator("header button").click();
    await plain.waitForURL(server.admin + "/");
    assert.equal(await plain.locator("#plugins tbody tr").count(), 8);
  });

  await check("pages of other origins", async () => {
    const host = createServer((_, response) => {
      response.setHeader("Content-Type", "text/html");
      response.end("<!doctype html><title>other</title><body>other</body>");
    });
    await new Promise((resolve) => host.listen(0, "127.0.0.1", resolve));
    const before = await (await fetch(`${server.admin}/status.json`)).json();
    const context = await browser.newContext();
    const other = await context.newPage();
    const statuses = [];
    other.on("response", (response) => {
      if (response.url().startsWith(server.admin)) statuses.push(response.status());
    });
    await other.goto(`http://127.0.0.1:${host.address().port}/`);
    const read = await other.evaluate(async (admin) => {
      const attempt = (promise) => promise.then(() => "read", () => "refused");
      const post = { method: "POST", body: "{}", mode: "no-cors" };
      const results = [
        await attempt(fetch(`${admin}/status.json`).then((response) => response.text())),
        await attempt(new Promise((resolve, reject) => {
          const events = new EventSource(`${admin}/events`);
          events.onopen = resolve;
          events.onerror = reject;
        })),
      ];
      await fetch(`${admin}/reload`, post).catch(() => {});
      await fetch(`${admin}/status.json`, { mode: "no-cors" }).catch(() => {});
      const frame = document.createElement("iframe");
      frame.src = `${admin}/`;
      document.body.append(frame);
      const image = new Image();
      await new Promise((resolve) => {
        image.onerror = resolve;
        image.onload = resolve;
        image.src = `${admin}/icon.svg`;
      });
      return [...results, image.naturalWidth === 0 ? "refused" : "read"];
    }, server.admin);
    assert.deepEqual(read, ["refused", "refused", "refused"]);
    await other.evaluate((admin) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: `${admin}/reload` });
      document.body.append(form);
      form.submit();
    }, server.admin);
    await other.waitForURL(`${server.admin}/reload`);
    assert.match(await other.textContent("body"), /other web pages are blocked/);
    assert.ok(statuses.length >= 2 && statuses.every((status) => status === 403), `${statuses}`);
    await other.goto(`http://127.0.0.1:${host.address().port}/`);
    await other.evaluate((admin) => {
      const form = document.createElement("form");
      Object.assign(form, { method: "post", action: `${admin}/try` });
      form.innerHTML = '<input name="tool" value="time_get_current_time">';
      document.body.append(form);
      form.submit();
    }, server.admin);
    await other.waitForURL(`${server.admin}/try`);
    assert.match(await other.textContent("body"), /other web pages are blocked/);
    const after = await (await fetch(`${server.admin}/status.json`)).json();
    assert.deepEqual(after.reloads, before.reloads);
    assert.ok(!(await (await fetch(`${server.admin}/activity.json`)).text()).includes("operator"));
    host.close();
    await context.close();
  });

  await check("a tool by keyboard, without scripts", async () => {
    const tools = await open(browser, server.admin, { javaScriptEnabled: false });
    await tools.keyboard.press("Tab");
    for (const [link, url] of [["a[href='try']", /\/try$/], ["a[href='try?tool=time_convert_time']", /convert_time$/]]) {
      await tabTo(tools, link);
      await tools.keyboard.press("Enter");
      await tools.waitForURL(url);
    }
    for (const [input, text] of [["a0", "Asia/Tokyo"], ["a1", "12:30"], ["a2", "Europe/Paris"]]) {
      await tabTo(tools, `#${input}`);
      await tools.keyboard.type(text);
    }
    await tabTo(tools, "form.tool button");
    await tools.keyboard.press("Enter");
    await tools.locator("#result .badge", { hasText: "ok" }).waitFor();
    assert.match(await tools.textContent("#result"), /Asia\/Tokyo/);
    await page.locator("#calls tbody tr", { hasText: "operator" }).first().waitFor();
  });

  await check("results, questions and errors of tools", async () => {
    const everything = '[plugins.everything]\nsource = "builtin:everything"\nprefix = ""\nallow.client = ["elicitation"]\n';
    const asking = await start("asking", LISTEN + everything);
    const tools = await open(browser, asking.admin);
    const show = (tool) => tools.goto(`${asking.admin}/try?tool=${tool}`);
    await show("test_image_content");
    await tools.getByRole("button", { name: "Call test_image_content" }).click();
    const image = tools.locator("#result img");
    assert.ok(await image.evaluate((element) => element.complete && element.naturalWidth > 0));
    await show("test_elicitation");
    await tools.fill("#a0", "Who are <b>you</b>?");
    await tools.getByRole("button", { name: "Call test_elicitation" }).click();
    assert.match(await tools.textContent("legend"), /Who are <b>you<\/b>\?/);
    await assertAccessible(tools);
    await assertFits(tools, 360);
    await screenshot(tools, "questions");
    const fields = await tools.locator("fieldset textarea, fieldset input[type=text]").all();
    assert.equal(fields.length, 2);
    for (const field of fields) await field.fill("ann@example.org");
    await tools.getByRole("button", { name: "Answer" }).click();
    await tools.locator("#result", { hasText: "ann@example.org" }).waitFor();
    await show("test_error_handling");
    await tools.getByRole("button", { name: "Call test_error_handling" }).click();
    await tools.locator("#result .badge", { hasText: "tool error" }).waitFor();
    await assertAccessible(tools);
    tools.problems = tools.problems.filter((problem) => !problem.startsWith("request: data:image/png"));
    await assertHarmless(tools);
  });

  await check("pictures of the documentation", async () => {
    const config = SOME.split("[plugins.hostile]")[0];
    const shown = await start("gateway", LISTEN + config);
    for (const zone of ["UTC", "Asia/Tokyo", "Europe/Paris", "Nowhere"]) call(shown, "time_get_current_time", `timezone=${zone}`);
    call(shown, "notes_list_directory", "path=/notes");
    call(shown, "fetch_fetch", "url=https://elsewhere.example/a");
    for (const colorScheme of ["light", "dark"]) {
      const pictured = await open(browser, shown.admin, { viewport: { width: 1200, height: 800 }, colorScheme });
      await pictured.locator("#refused tbody tr").first().waitFor();
      await hidePaths(pictured);
      await screenshot(pictured, `status-page-${colorScheme}`, false);
    }
  });

  await check("hostile tools and results", async () => {
    writeFileSync(join(directory, "notes/evil.txt"), "</pre><script>alert(1)</script><img src=x onerror=alert(1)>");
    const tools = await open(browser, server.admin);
    await tools.goto(`${server.admin}/try`);
    const hostile = await tools.locator("main a[href*='hostile']").evaluateAll((links) => links.map((link) => link.href));
    assert.ok(hostile.length > 0);
    for (const link of hostile.slice(0, 5)) {
      await tools.goto(link);
      await assertHarmless(tools);
    }
    await tools.goto(`${server.admin}/try?tool=${encodeURIComponent('"><script>alert(1)</script>')}`);
    await assertHarmless(tools);
    await tools.goto(`${server.admin}/try?tool=notes_read_text_file`);
    await tools.fill("#a0", "/notes/evil.txt");
    await tools.locator("form.tool button").click();
    await tools.locator("#result", { hasText: "onerror=alert(1)" }).waitFor();
    await assertHarmless(tools);
    for (const colorScheme of ["light", "dark"]) {
      await tools.emulateMedia({ colorScheme, reducedMotion: "reduce" });
      await assertAccessible(tools);
    }
    await assertFits(tools, 360);
    await screenshot(tools, "tool");
  });

  await check("500 plugins and a token", async () => {
    const tables = Array.from({ length: 500 }, (_, at) => `[plugins.p${at}]\nsource = "builtin:time"\n`);
    const many = await start("many", `${LISTEN}token = { file = "token" }\n${tables.join("")}`);
    const refused = await fetch(many.admin);
    assert.equal(refused.status, 401);
    assert.match(refused.headers.get("www-authenticate"), /Basic realm=/);
    const httpCredentials = { username: "admin", password: TOKEN };
    const page = await open(browser, many.admin, { httpCredentials });
    assert.equal(await page.locator("#plugins tbody tr").count(), 500);
    assert.equal(call(many, "p499_get_current_time", "timezone=UTC"), 0);
    await page.locator("#calls tbody tr", { hasText: "p499_get_current_time" }).first().waitFor();
    await assertFits(page, 360);
    await screenshot(page, "many", false);
    await assertHarmless(page);
  });
} finally {
  await browser.close();
  for (const child of running) {
    const ended = new Promise((resolve) => child.on("exit", resolve));
    child.removeAllListeners("exit");
    child.kill("SIGKILL");
    await Promise.race([ended, new Promise((resolve) => setTimeout(resolve, 1000))]);
  }
  rmSync(directory, { recursive: true, force: true });
}
process.exit(failed === 0 ? 0 : 1);
