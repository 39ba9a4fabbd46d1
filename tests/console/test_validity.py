"""Each page is valid HTML where a browser would mend it in silence: nesting, ids, labels."""

from html.parser import HTMLParser

import pytest

VOID = {"area", "br", "col", "hr", "img", "input", "link", "meta", "source", "wbr"}
#: Elements of a paragraph or a heading: others end it, whatever the page says.
PHRASES = {*"a b br code del em i img ins progress span strong time wbr".split()}
#: Element → the only elements that it may have.
CONTENT = {
    **dict.fromkeys(("p", "h1", "h2", "h3"), PHRASES),
    **{key: {"li"} for key in ("ul", "ol")},
    **{key: {"tr"} for key in ("thead", "tbody")},
    "table": {"thead", "tbody", "caption"},
    "tr": {"td", "th"},
    "dl": {"dt", "dd", "div"},
    "select": {"option"},
    "option": set[str](),
}
#: Elements that may not be within themselves, or within one another.
ALONE = ({"form"}, {"a", "button"}, {"label"}, {"main"})


class Checker(HTMLParser):
    """Collects what is wrong in ``faults``."""

    def __init__(self, page):
        super().__init__()
        self.faults, self._open, self._names = list[str](), list[str](), list[str]()
        self._ids, self._labelled, self._fields = list[str | None](), list[str | None](), list[str | None]()
        self._summary = True
        self.feed(page)
        self.close()
        self.faults += [f"{name} is not closed" for name in self._open]
        self.faults += [f"id {name} twice" for name in {*self._ids} if self._ids.count(name) > 1]
        self.faults += [f"no label for {name}" for name in self._fields if name not in self._labelled]
        self.faults += [f"{name} leads nowhere" for name in self._names if name not in self._ids]

    def handle_starttag(self, tag, attrs):
        found = dict(attrs)
        parent = self._open[-1] if self._open else ""
        if parent in CONTENT and tag not in CONTENT[parent]:
            self.faults.append(f"{tag} in {parent}")
        if parent == "details" and tag != "summary" and not self._summary:
            self.faults.append("details begins without a summary")
        for group in ALONE:
            if tag in group and group & {*self._open}:
                self.faults.append(f"{tag} within {group & {*self._open}}")
        self._summary = tag != "details"
        if len(found) != len(attrs):
            self.faults.append(f"an attribute of {tag} twice")
        self._ids += [found["id"]] if "id" in found else []
        self._names += [*found.get("for", "").split(), *found.get("aria-labelledby", "").split()]
        if tag == "label":
            self._labelled.append(found.get("for"))
        hidden = found.get("type") == "hidden" or "aria-label" in found
        if tag in {"input", "select", "textarea"} and not hidden:
            self._fields.append(found.get("id"))
        if tag not in VOID:
            self._open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.handle_endtag(tag)

    def handle_endtag(self, tag):
        if not self._open or self._open[-1] != tag:
            self.faults.append(f"</{tag}> ends {self._open[-1:]}")
        if tag in self._open:
            while self._open.pop() != tag:
                pass


PAGES = (
    *(
        "/",
        "/feeds",
        "/runs",
        "/runs?state=superseded",
        "/runs?limit=1",
        "/runs/1",
        "/runs/2",
        "/runs/2/approve",
    ),
    *(
        "/runs/2/reject",
        "/runs/1/revert",
        "/runs/1/again",
        "/feeds/acme",
        *(f"/feeds/acme?tab={tab}" for tab in ("jobs", "rejects", "mapping", "folder")),
        "/jobs",
        "/jobs?q=zebra",
    ),
    *("/jobs/1", "/employers", "/employers/1", "/service", "/preview", "/runs/99", "/nowhere"),
)


@pytest.mark.parametrize("path", PAGES)
async def test_a_page_is_valid(browse, world, path):
    world.board.deliver(world.feeds["acme"], [*world.board.rows(1, 30), {"referenceId": "bad", "title": ""}])
    world.board.deliver(world.feeds["acme"], world.board.rows(1, 8))
    page = (await (await browse()).get(path, headers={"Accept": "text/html"}))[1]
    assert page.startswith("<!doctype html>")
    assert Checker(page).faults == []


async def test_the_login_is_valid(browse, world):
    world.guarded()
    assert Checker((await (await browse()).get("/login"))[1]).faults == []


FAULTS = (
    *(
        "<p><div></div></p>",
        "<ul><p></p></ul>",
        "<input id=a>",
        "<input>",
        "<i id=a></i><i id=a></i>",
        "<b><i></b></i>",
    ),
    *(
        "<div>",
        "<form><div><form></form></div></form>",
        "<a href=x><button></button></a>",
        "<label for=b></label>",
    ),
    *("<details><p></p></details>", "<table><tr></tr></table>"),
)


@pytest.mark.parametrize("page", FAULTS)
def test_a_fault_is_found(page):
    assert Checker(page).faults != []
