"""Hostile text wherever a partner, a client or a browser can put some: it is text on every page, and nothing of it gets into a
header."""

import io
import re
from dataclasses import replace
from html.parser import HTMLParser

import pytest

from syncd.feeds.configuration import FeedFile
from syncd.store import employers, feeds, keys
from syncd.sync.drop_file import DropFile
from tests.console.conftest import TOKEN

#: Each ends an element, an attribute, a script or a comment, and would then do something.
TAGS = "\"'><img src=x onerror=alert(1)><script>alert(1)</script>"
TEXTS = (TAGS, "--></textarea></title><svg/onload=alert(1)>", "{{1231*4567}}{% raw %}${1231*4567}\u202egnp")
#: Elements of the pages; an attacker's would be another, or have another attribute.
ATTRIBUTES = re.compile("on|style$|srcdoc$|formaction$")


class Marks(HTMLParser):
    """Collects in ``faults`` what only hostile text can have made."""

    def __init__(self, page):
        super().__init__()
        self.faults = []
        self.links = []
        self.feed(page)
        self.close()

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        if tag in {"img", "iframe", "object", "embed", "style", "textarea", "base"}:
            self.faults.append(tag)
        if tag == "script" and not found.get("src", "").startswith("/static/"):
            self.faults.append("script")
        self.faults += [name for name in found if ATTRIBUTES.match(name)]
        for name in ("href", "action", "src"):
            link = found.get(name) or ""
            if re.match(r"\s*(javascript|data|vbscript):", link, re.IGNORECASE):
                self.faults.append(link)
            if link.startswith("/") and tag == "a":
                self.links.append(link)


def spoil(world, text):
    """Put ``text`` wherever it can come from."""
    board, row = world.board, world.board.row
    short = text[:60]
    board.deliver(world.feeds["acme"], board.rows(1, 30))
    fields = {
        "title": text,
        "description": f"<p>{text}</p>",
        "applicationUrl": f"https://example.com/?{text}",
    }
    rows = [
        row(short, title=text, description=f"<p>{text}</p>"),
        row("A-2", applicationEmail=text),
        row("A-3", categories=[{"id": text}], locations=[{"description": text}]),
        row("A-4", **fields, applicantRoutingType={"id": 2}),
        *board.rows(1, 8),
    ]
    source = board.file(rows, "evil.json")
    named = source.path.rename(source.path.with_name(f"{short.replace('/', '∕')}.json"))
    evil = DropFile.at(named)
    board.importer.run(world.feeds["acme"], evil, board.begin(world.feeds["acme"], evil))
    spoilt = board.folder / "drop" / "acme" / f"{short.replace('/', '∕')}.part"
    spoilt.touch()
    board.store.write(lambda tx: feeds.pause(tx, "acme", text))
    board.store.write(lambda tx: employers.add(tx, short.replace("\u202e", "")))
    board.store.write(lambda tx: keys.create(tx, 2, text))
    world.files["bare"] = FeedFile("bare", None, (text, f"bare.toml: {text}"))
    world.faults = {"store": text, "clock": text}
    hosts = replace(world.settings.operator, hosts=(short,), public_url="")
    world.settings = replace(world.settings, operator=hosts)


@pytest.mark.parametrize("text", TEXTS)
async def test_hostile_text_is_text_on_every_page(browse, world, text):
    spoil(world, text)
    browser = await browse()
    todo, seen = ["/", "/runs/2", "/jobs?employer=2", "/employers/2", "/feeds/bare", "/service"], set[str]()
    while todo and len(seen) < 120:
        path = todo.pop()
        if path in seen or path.startswith(("/static/", "/metrics", "/readyz")):
            continue
        seen.add(path)
        status, page, answer = await browser.get(path)
        if answer.content_type != "text/html":
            continue
        assert status < 500, path
        found = Marks(page)
        faults = found.faults if "attachment" not in str(answer.headers) else []
        assert (faults, "\u202e" in page, "5621977" in page) == ([], False, False), path
        todo += found.links
    assert {"/runs/2", "/runs/2/reject", "/employers/2/keys/1/revoke", "/feeds/acme", "/feeds/bare"} <= seen
    assert any(path.startswith("/jobs/") for path in seen)
    assert ("\\u202egnp" in (await browser.get("/runs/2"))[1]) == ("\u202e" in text)  # it is spelled out


ASKED = (
    "/?x={}", "/runs?feed={}", "/runs?state={}", "/runs?page={}", "/jobs?q={}", "/jobs?employer={}", "/runs/{}",
    "/runs/1?action={}", "/feeds/{}", "/employers/{}", "/jobs/{}", "/login?next={}", "/{}", "/static/0/{}",
)  # fmt: skip


@pytest.mark.parametrize("path", ASKED)
async def test_hostile_text_in_an_address_is_text_in_the_answer(browse, world, path):
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 3))
    if "login" in path:
        world.guarded()
    browser = await browse()
    sent = (
        f"%0d%0aSet-Cookie:%20evil=1%0d%0a{TAGS}".replace("<", "%3C").replace(">", "%3E").replace('"', "%22")
    )
    status, page, answer = await browser.get(
        path.format(sent.replace("/", "%2F")), headers={"Accept": "text/html"}
    )
    assert status < 500
    assert Marks(page).faults == []
    assert "evil" not in answer.cookies
    assert all("\n" not in value and "\r" not in value for value in answer.headers.values())


@pytest.mark.parametrize(
    "name",
    ["Origin", "Referer", "User-Agent", "Cookie", "Authorization", "If-None-Match", "X-Request-Id", "Accept"],
)
async def test_hostile_text_in_a_header_is_refused_or_not_repeated(world, name, browser):
    for path in ("/", "/nowhere", "/runs"):
        answer = await browser.client.get(path, headers={"Accept": "text/html", name: TAGS})
        assert answer.status < 500
        if answer.content_type == "text/html":
            assert Marks(await answer.text()).faults == []
        kept = {key: value for key, value in answer.headers.items() if "alert(" in value}
        assert kept == {}
        answer.close()


async def test_hostile_text_in_a_form_is_text_in_the_answer(browse, world):
    world.guarded()
    browser = await browse()
    status, page, answer = await browser.submit("/login", token=TAGS, next=TAGS)
    assert (status, Marks(page).faults) == (401, [])
    await browser.log_in(TOKEN)
    for path, field in (
        ("/employers", "name"),
        ("/employers", "plan"),
        ("/employers/1", "name"),
        ("/employers/1/keys", "label"),
        ("/employers/1/keys", "expires"),
    ):
        csrf = re.findall(r'name="csrf" value="(\w+)"', (await browser.get("/employers/1"))[1])[0]
        status, page, answer = await browser.post(path, {"csrf": csrf, "name": "x", field: TAGS})
        assert status < 500
        assert Marks(page).faults == []
        assert all("alert(" not in value for value in answer.headers.values())


FORM = {"Content-Type": "application/x-www-form-urlencoded"}


@pytest.mark.parametrize(
    ("sent", "expected"),
    [
        (("/employers", b"x", {"Content-Type": "multipart/form-data"}), 400),
        (("/employers", b"name=x", {"Content-Type": "application/x-www-form-urlencoded; charset=nope"}), 400),
        (("/employers", b"name=%FF", FORM), 400),
        (("/employers", b"name=\xff", FORM), 400),
        (("/employers", b"name=" + b"x" * 3_000_000, FORM), 413),
        (("/employers", b'{"name": "A"}', {"Content-Type": "application/json"}), 415),
        (("/feeds/acme/pause", b'{"why": "A"}', {"Content-Type": "application/json"}), 415),
        (("/preview", b"", {}), 400),
        (("/preview", b"x", {"Content-Type": "multipart/form-data"}), 400),
    ],
)
async def test_a_form_that_cannot_be_read_is_refused_and_changes_nothing(browse, world, sent, expected):
    path, body, headers = sent
    world.guarded()
    browser = await browse()
    known = world.board.store.read(employers.all)
    program = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    answer = await browser.client.post(path, data=io.BytesIO(body), headers={**program, **headers})
    assert (answer.status, answer.content_type) == (expected, "application/problem+json"), await answer.text()
    assert world.board.store.read(employers.all) == known
    assert world.board.store.read(feeds.paused) == {}
