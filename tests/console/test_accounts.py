"""Employers and keys: what the operator does to them, and what the pages refuse."""

import json
import re

import pytest
from structlog.testing import capture_logs

from syncd.store import employers, keys
from tests.console.conftest import TOKEN, csrf_of

KEY = re.compile(r"syncd_[\w-]{43}")


@pytest.fixture
def names(world):
    return lambda: [employer.name for employer in world.board.store.read(employers.all)]


@pytest.fixture
def states(world):
    def found(tx):
        return {info.id: info.state(tx.now.instant) for info in keys.all(tx)}

    return lambda: world.board.store.read(found)


async def send(browser, path, fields, form="/employers/1"):
    csrf = csrf_of((await browser.get(form))[1])
    return await browser.post(path, {"csrf": csrf, **fields})


async def make_key(browser, employer=1, **fields):
    page = (await send(browser, f"/employers/{employer}/keys", fields))[1]
    return KEY.findall(page)


async def test_an_employer_is_added_and_renamed(world, names, browser):
    status, _, answer = await send(browser, "/employers", {"name": "  Bäcker &  Söhne ", "plan": "standard"})
    assert (status, answer.headers["Location"]) == (303, "/employers/2")
    page = (await browser.get("/employers"))[1]
    assert "Bäcker &amp; Söhne" in page
    status, _, answer = await send(browser, "/employers/2", {"name": "Bakers"})
    assert (status, answer.headers["Location"]) == (303, "/employers/2")
    assert names() == ["Acme Ltd.", "Bakers"]
    status, page, _ = await send(browser, "/employers/1", {"name": 'Acme "Inc" <b>'})
    assert (status, "acme.toml" in page) == (200, True)
    assert "employer = &#34;Acme \\&#34;Inc\\&#34; &lt;b&gt;&#34;" in page


@pytest.mark.parametrize(
    ("name", "status", "why"),
    [
        ("", 422, "needs a name"),
        ("   ", 422, "needs a name"),
        ("x" * 129, 422, "at most 128"),
        ("Acme  Ltd.", 409, "already has the name"),
        ("a\x00b", 400, "cannot be seen"),
        ("a\u202eb", 400, "cannot be seen"),
    ],
)
async def test_a_name_that_cannot_be_taken_is_shown_again_with_why(  # noqa: PLR0917
    browse, world, names, name, status, why
):
    world.board.store.write(lambda tx: employers.add(tx, "Other"))
    browser = await browse()
    for path in ("/employers", "/employers/2"):
        answered, page, _ = await send(browser, path, {"name": name}, form=path)
        assert (answered, why in page) == (status, True)
    assert names() == ["Acme Ltd.", "Other"]
    assert (await send(browser, "/employers", {"name": "New", "plan": "gold"}))[0] == 400


async def test_a_key_is_shown_once_and_works(world, states, browser):
    status, page, answer = await send(browser, "/employers/1/keys", {"label": "import", "expires": "90d"})
    (plain,) = KEY.findall(page)
    assert (status, answer.headers["Cache-Control"], plain in str(answer.url)) == (201, "no-store", False)
    assert "it is not shown again" in page
    assert world.board.store.read(lambda tx: keys.authenticate(tx, plain)).id == 1
    for path in ("/employers", "/employers/1", "/employers/1/keys", "/employers/1/keys/1/rotate"):
        assert not KEY.search((await browser.get(path))[1])
    assert states() == {1: "live"}


@pytest.mark.parametrize(
    "fields",
    [{"expires": "0"}, {"expires": "soon"}, {"expires": "-1d"}, {"expires": "999999d"}, {"label": "x" * 201}],
)
async def test_a_key_with_a_wrong_time_or_label_is_not_made(world, states, fields, browser):
    status, page, _ = await send(browser, "/employers/1/keys", fields)
    assert (status, 'role="alert"' in page) == (400, True)
    assert states() == {}


async def test_a_rotation_asks_and_makes_a_successor(world, clock, states, browser):
    (old,) = await make_key(browser, label="import")
    assert "stays valid for a while" in (await browser.get("/employers/1/keys/1/rotate"))[1]
    status, page, _ = await browser.submit("/employers/1/keys/1/rotate", grace="2h")
    (new,) = KEY.findall(page)
    assert (status, "Key 1 is valid until" in page, new != old) == (201, True, True)
    assert states() == {1: "live", 2: "live"}
    clock.forward(hours=3)
    assert states() == {1: "expired", 2: "live"}
    assert (await browser.get("/employers/1/keys/1/rotate"))[0] == 409
    status, page, _ = await browser.submit("/employers/1/keys/2/rotate", grace="for ever")
    assert (status, "grace must be a duration" in page) == (400, True)
    status, _, _ = await browser.submit("/employers/1/keys/2/rotate", grace="0")
    assert states() == {1: "expired", 2: "expired", 3: "live"}


async def test_a_revocation_asks_once_and_cannot_be_repeated(world, states, browser):
    (plain,) = await make_key(browser)
    assert "This cannot be undone" in (await browser.get("/employers/1/keys/1/revoke"))[1]
    assert states() == {1: "live"}
    status, _, answer = await browser.submit("/employers/1/keys/1/revoke")
    assert (status, answer.headers["Location"]) == (303, "/employers/1")
    assert states() == {1: "revoked"}
    assert world.board.store.read(lambda tx: keys.authenticate(tx, plain)) is None
    assert (await browser.get("/employers/1/keys/1/revoke"))[0] == 409
    assert (await send(browser, "/employers/1/keys/1/rotate", {}))[0] == 409
    assert "revoked" in (await browser.get("/employers/1"))[1]


async def test_a_key_of_another_employer_and_numbers_that_are_none_are_404(browse, world, states):
    world.board.store.write(lambda tx: employers.add(tx, "Other"))
    browser = await browse()
    await make_key(browser)
    for path in ("/employers/2/keys/1/revoke", "/employers/1/keys/9/revoke", "/employers/1/keys/x/rotate"):
        assert (await browser.get(path))[0] == 404
        assert (await send(browser, path, {}))[0] == 404
    for path in (
        "/employers/9",
        "/employers/0",
        "/employers/-1",
        "/employers/99999999999",
        "/employers/9/keys",
    ):
        assert (await browser.get(path))[0] == 404
        assert (await send(browser, path, {"name": "New"}))[0] == 404
    assert states() == {1: "live"}
    assert (await browser.client.delete("/employers/1")).status == 405


async def test_a_program_gets_the_objects_of_the_commands(browse, world):
    world.guarded()
    browser = await browse()
    headers = {"Authorization": f"Bearer {TOKEN}", "Accept": "application/json"}
    status, text, _ = await browser.post("/employers/1/keys", {"label": "import"}, headers=headers)
    made = json.loads(text)
    assert (status, made["label"], bool(KEY.fullmatch(made["key"]))) == (201, "import", True)
    status, text, _ = await browser.post("/employers", {"name": "Other", "plan": "standard"}, headers=headers)
    assert (status, json.loads(text)) == (201, {"id": 2, "name": "Other", "plan": "standard"})
    status, text, _ = await browser.post("/employers", {"name": "Other"}, headers=headers)
    assert (status, json.loads(text)["code"]) == (409, "conflict")
    status, text, _ = await browser.post("/employers/1/keys/1/revoke", headers=headers)
    assert (status, json.loads(text)["revokedAt"] is not None) == (200, True)


async def test_the_log_says_who_did_what_without_the_key(world, browser):
    with capture_logs() as lines:
        (plain,) = await make_key(browser)
        await browser.submit("/employers/1/keys/1/revoke")
    changed = [line for line in lines if line["event"] == "operator.changed"]
    assert [(line["action"], line["employer"], line["key"]) for line in changed] == [
        ("create_key", 1, 1),
        ("revoke_key", 1, 1),
    ]
    assert all(line["session"] is not None for line in changed)
    assert plain not in str(lines)


async def test_many_employers_and_keys_have_pages(browse, world):
    def fill(tx):
        for number in range(120):
            employers.add(tx, f"Employer {number:03}")
        for _ in range(60):
            keys.create(tx, 1, "import")

    world.board.store.write(fill)
    browser = await browse()
    page = (await browser.get("/employers?page=3"))[1]
    assert (page.count('data-label="Plan"'), "Page 3 of 3" in page) == (21, True)
    assert "No employer is on this page" in (await browser.get("/employers?page=9"))[1]
    assert (await browser.get("/employers/1?page=2"))[1].count("Rotate key") == 10
    assert (await browser.get("/employers/1?page=0"))[0] == 400
