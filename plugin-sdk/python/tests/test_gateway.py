"""The gateway's functions: state, requests, questions, settings, resources, prompts and reports."""

import unittest
import urllib.request
from dataclasses import dataclass

from moongate import (
    Completion, ConfigError, Context, Form, HttpError, KvError, Message, Plugin, ProtocolError, ReadResult, Contents,
    Roots, Sampling, ToolError, Url, changes, config, http, kv, log, progress,
)
from moongate.build import world
from moongate.testing import Client, Page, accept, decline, roots, sampled


@dataclass
class Settings:
    server: str
    days: int = 3
    cities: list[str] | None = None


@dataclass
class Sure:
    sure: bool
    reason: str | None = None


plugin = Plugin("notes", "0.1.0", config=Settings)


@plugin.tool()
def add(text: str) -> int:
    """Add a note."""
    notes = kv.update("notes", lambda notes: [*notes, text], default=[])
    changes.resource("notes://all")
    log.info({"notes": len(notes)})
    progress.report(1, 2, "stored")
    progress.report(1)
    return len(notes)


@plugin.tool()
def clear(ctx: Context) -> str:
    """Delete all notes, after asking."""
    number = ctx.once("number", lambda: kv.increment("clears"))
    if not ctx.ask("sure", Form(f"Delete {len(kv.keys())} notes?", Sure)).sure:
        return "kept"
    for key in kv.keys():
        kv.delete(key)
    return f"deleted {number}"


@plugin.tool()
def hasty(ctx: Context) -> str:
    """Write, and ask afterwards."""
    kv.set("a", 1)
    return str(ctx.ask("sure", Form("Sure?", Sure)))


@plugin.tool()
def ask(ctx: Context) -> str:
    """Ask everything."""
    found = ctx.ask_all({"model": Sampling("Hi", 10, temperature=0.5), "roots": Roots(), "page": Url("Open", "https://x")})
    declined = ctx.ask("declined", Form("Sure?", Sure, may_decline=True))
    return f"{found['model'].text} {found['roots'][0].uri} {declined.action}"


@plugin.tool()
def fetch(url: str, body: str | None = None) -> str:
    """Get a page."""
    if body is None:
        return http.get(url, params={"q": "a b"}, headers={"X-Key": "k"}).raise_for_status().text
    return str(http.post(url, json={"text": body}).json()["got"])


@plugin.tool()
def about() -> str:
    """Read settings."""
    settings = config.typed(Settings)
    return f"{settings} {config.get('days', int)} {config.get('other')}"


@plugin.tool()
def who(ctx: Context) -> str:
    """Describe the request."""
    return f"{ctx.principal} {ctx.client} {ctx.revision} {ctx.remaining} {ctx.cancelled} {ctx.meta('a/b')}"


@plugin.resource("notes://all", mime_type="application/json")
def all_notes() -> ReadResult:
    """All notes."""
    return ReadResult(Contents("notes://all", "[]"), ttl=60)


@plugin.resource("notes://days/{year}/{+rest}")
def day(year: int, rest: str, uri: str) -> str:
    """The note of a day."""
    return f"{year} {rest} {uri}"


@plugin.prompt(title="Shorten")
def shorten(text: str, words: int = 100) -> list[Message]:
    """Shorten a text."""
    return [Message.user(f"{words}: {text}")]


@plugin.complete("words", prompt="shorten")
def words(typed: str, others: dict[str, str]) -> Completion:
    return Completion([number for number in ("10", "100") if number.startswith(typed)], total=2)


class Gateway(unittest.TestCase):
    def test_state_and_reports(self) -> None:
        client = Client(plugin)
        client.call("add", text="Milk")
        self.assertEqual(client.call("add", text="Bread").structured, 2)
        self.assertEqual(client.state["notes"], ["Milk", "Bread"])
        self.assertEqual(client.changes, ["notes://all"] * 2)
        self.assertEqual(client.logs[1].data, {"notes": 2})
        self.assertEqual([(one.current, one.message) for one in client.progress], [(1.0, "stored")])

    def test_missing_grants_are_failures(self) -> None:
        client = Client(plugin, state_granted=False)
        self.assertEqual(client.call("add", text="x").text, "state isn't granted; an operator can allow it")
        self.assertIn("GET https://a.example isn't granted", client.call("fetch", url="https://a.example/x").text)

    def test_questions_start_the_call_again(self) -> None:
        client = Client(plugin, state={"a": 1}, answers={"sure": accept(sure=True)})
        self.assertEqual(client.call("clear").text, "deleted 1")
        self.assertEqual(client.state, {})
        self.assertEqual(
            client.asked[0].params["requestedSchema"],
            {
                "type": "object",
                "properties": {"sure": {"type": "boolean"}, "reason": {"type": "string"}},
                "required": ["sure"],
            },
        )
        declined = Client(plugin, answers={"sure": decline()}).call("clear")
        self.assertEqual((declined.failed, declined.text), (True, 'the user declined the question "Delete 1 notes?"'))
        with self.assertRaisesRegex(AssertionError, "would write it again"):
            Client(plugin, answers={"sure": decline()}).call("hasty")
        with self.assertRaisesRegex(AssertionError, "asked `sure`"):
            Client(plugin).call("clear")

    def test_asks_model_roots_and_page(self) -> None:
        answers = {
            "model": lambda params: sampled(f"T{params['temperature']}"), "roots": roots("file:///a"),
            "page": {"action": "accept"}, "declined": decline(),
        }
        self.assertEqual(Client(plugin, answers=answers).call("ask").text, "T0.5 file:///a decline")

    def test_requests(self) -> None:
        pages = {
            "https://a.example/x?q=a+b": lambda request: request.headers["x-key"],
            "https://a.example/moved?q=a+b": Page(status=302, headers={"Location": "/x?q=a+b"}),
            "https://a.example/echo": lambda request: Page.json({"got": request.json["text"]}),
        }
        client = Client(plugin, pages=pages)
        self.assertEqual(client.call("fetch", url="https://a.example/x").text, "k")
        self.assertEqual(client.call("fetch", url="https://a.example/moved").text, "k")
        self.assertEqual(client.call("fetch", url="https://a.example/echo", body="hi").text, "hi")
        self.assertEqual(client.requests[-1].headers["content-type"], "application/json")
        self.assertEqual(client.call("fetch", url="https://a.example/y").text, "`https://a.example` returned status 404")
        for url in ("ftp://a", "https://", "https://a:b/"):
            self.assertIn(f"invalid URL `{url}", client.call("fetch", url=url).text)

    def test_settings(self) -> None:
        client = Client(plugin, config={"server": "https://s", "cities": ["Oslo"]})
        self.assertEqual(client.call("about").text, "Settings(server='https://s', days=3, cities=['Oslo']) None None")
        table = "`[plugins.<name>.config]` of `gateway.toml`"
        self.assertEqual(Client(plugin).call("about").text, f"missing `server` in {table}")
        wrong = Client(plugin, config={"server": "", "days": "many"})
        self.assertEqual(wrong.call("about").text, f"invalid `days` in {table}: expected an integer")

    def test_the_request(self) -> None:
        client = Client(plugin, principal="ada", client=("c", "1"), remaining=1.5, meta={"a/b": [1]})
        self.assertEqual(
            client.call("who").text,
            "ada ClientInfo(name='c', version='1', title=None) 2025-11-25 1.5 False [1]",
        )

    def test_resources(self) -> None:
        client = Client(plugin)
        self.assertEqual(client.read("notes://all")[0].data, "[]")
        self.assertEqual(client.read("notes://days/2026/a/b%20c")[0].data, "2026 a/b c notes://days/2026/a/b%20c")
        for uri, kind in [("notes://days/x/y", "invalid-params"), ("other://", "not-found")]:
            with self.assertRaises(ProtocolError) as raised:
                client.read(uri)
            self.assertEqual(raised.exception.kind, kind)

    def test_prompts_and_completion(self) -> None:
        client = Client(plugin)
        self.assertEqual(client.prompt("shorten", text="A", words="5"), [Message.user("5: A")])
        with self.assertRaisesRegex(ProtocolError, "invalid `words`: expected an integer, got `few`"):
            client.prompt("shorten", text="A", words="few")
        self.assertEqual(client.complete("words", "100", prompt="shorten"), ["100"])

    def test_errors_are_tool_errors(self) -> None:
        for error in (ConfigError, HttpError, KvError):
            self.assertTrue(issubclass(error, ToolError))

    def test_the_world_contains_what_the_plugin_uses(self) -> None:
        found = world(Plugin("a", "0"), {"moongate.kv", "os"})
        self.assertIn("import wasi:keyvalue/atomics@0.2.0-draft2;", found)
        for absent in ("wasi:http", "moongate:plugin/log", "export moongate:plugin/tools"):
            self.assertNotIn(absent, found)
        self.assertIn("wasi:http", world(plugin, {urllib.request.__name__}))


if __name__ == "__main__":
    unittest.main()
