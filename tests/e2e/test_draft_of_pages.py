"""A feed that is drafted from an address whose list comes in pages, and then has all of them."""

import json
import threading
import tomllib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, urlsplit

import pytest

from syncd.feeds.mapping.presets import board_of, boards

SAMPLES = Path(__file__).parents[2] / "feeds" / "samples"
HOST = ("--insecure-host", "127.0.0.1")
#: Records of all pages, and of each.
ALL, EACH = 7, 3


def job(number):
    place = {"city": "Guelph", "province": "Ontario"}
    words = "We look for somebody who likes the work and does it well, every day of the week but Sunday."
    page = f"https://careers.acme.example/jobs/{number}"
    return {"id": f"A-{number}", "title": f"Cook {number}", "description": words, **place, "applyUrl": page}


class Pages(ThreadingHTTPServer):
    """``/FORM?page=N`` is a page of a list; the form says how it goes on. ``asked`` has all requests."""

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        self.url, self.asked = f"http://127.0.0.1:{self.server_port}", []
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def answer(self, form, page):
        """Return the answer in JSON and its header Link."""
        jobs = [job(number) for number in range(ALL)][EACH * (page - 1) : EACH * page]
        more = f"{self.url}/{form}?page={page + 1}" if EACH * page < ALL else None
        link = f'<{more}>; rel="next"' if more and form == "link" else None
        answers = {
            "link": jobs,
            "wordy": {"meta": {"count": len(jobs), "paging": {"nextUrl": more}}, "jobs": jobs},
            "hal": {
                "_links": {"self": {"href": "/hal"}, **({"next": {"href": more}} if more else {})},
                "jobs": jobs,
            },
            "total": {"jobs": jobs, "paging": {"total": ALL}},
            "flag": {"jobs": jobs, "hasMore": more is not None},
            "token": {"jobs": jobs, "nextPageToken": "abc" if more else ""},
            "whole": {"jobs": [job(number) for number in range(ALL)], "total": ALL, "next": None},
            "around": {"jobs": [job(n) | {"next": "/elsewhere", "total": 99} for n in range(ALL)]},
        }
        return answers[form], link


class Handler(BaseHTTPRequestHandler):
    """Answers for Pages."""

    server: Pages

    def do_GET(self):
        self.server.asked.append(self.path)
        parts = urlsplit(self.path)
        answer, link = self.server.answer(
            parts.path.strip("/"), int(parse_qs(parts.query).get("page", ["1"])[0])
        )
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        if link:
            self.send_header("Link", link)
        self.end_headers()
        self.wfile.write(json.dumps(answer).encode())

    def log_message(self, *_):
        pass


@pytest.fixture
def site():
    with Pages() as site:
        yield site
        site.shutdown()


def source_of(acme, name):
    text = (acme.feeds / f"{name}.toml").read_text()
    return tomllib.loads(text)["source"], text


@pytest.mark.parametrize(
    ("form", "pages", "said"),
    [
        ("link", {"link": True}, "the header Link names the next page"),
        ("wordy", {"next": "meta.paging.nextUrl"}, "meta.paging.nextUrl has the address of the next page"),
        ("hal", {"next": "_links.next.href"}, "_links.next.href has the address of the next page"),
    ],
)
def test_a_draft_says_how_the_pages_go_on_and_the_feed_has_all_of_them(acme, site, form, pages, said):
    made = acme.run("feed", "new", "web", "--from", f"{site.url}/{form}", *HOST)
    assert made.code == 0
    assert f"pages: {said}; " in made.out
    source, text = source_of(acme, "web")
    assert source["pages"] == pages
    assert f"# {said}" in text
    assert len(site.asked) == 1
    fetched = acme.run("feed", "fetch", "web")
    assert (fetched.code, fetched.err) == (0, "")
    (file,) = (acme.drop_folder / "web").glob(f"*-{form}.jsonl")
    assert len(file.read_text().splitlines()) == ALL
    assert acme.run("plan", file, "--feed", "web", "--json").json["counts"]["created"] == ALL


def test_the_daemon_runs_the_records_of_all_pages(acme, site, start):
    assert acme.run("feed", "new", "web", "--from", f"{site.url}/hal", *HOST).code == 0
    daemon = start()
    (run,) = daemon.wait_for_event("feed.reconciled")
    assert (run["feed"], run["state"], run["created"]) == ("web", "succeeded", ALL)


@pytest.mark.parametrize(
    ("form", "hint"),
    [
        ("total", "paging.total is 7, of which 3 are here"),
        ("flag", "hasMore is true"),
        ("token", "nextPageToken names a next page, but is not an address"),
    ],
)
def test_a_hint_at_more_records_is_shown(acme, site, form, hint):
    made = acme.run("feed", "new", "web", "--from", f"{site.url}/{form}", *HOST)
    said = f"{hint}, and the answer does not say how pages go on"
    assert (made.code, made.err) == (0, f"syncd: {said}: see pages in the draft\n")
    source, text = source_of(acme, "web")
    assert "pages" not in source
    assert f"# {said}" in text
    shown = acme.run("feed", "new", "web", "--from", f"{site.url}/{form}", *HOST, "--force", "--json").json
    assert (shown["pages"], shown["paging"]) == (None, said)


@pytest.mark.parametrize("form", ["whole", "around"])
def test_a_whole_list_is_not_taken_for_a_page(acme, site, form):
    made = acme.run("feed", "new", "web", "--from", f"{site.url}/{form}", *HOST)
    assert (made.code, made.err) == (0, "")
    assert "pages" not in (acme.feeds / "web.toml").read_text().partition("[read]")[0]


# -- boards ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("preset", boards())
def test_the_address_of_each_board_is_known(preset):
    url = boards()[preset]["url"].format(board="Acme%20Co" if preset in ("ashby", "lever") else "acme")
    name = "Acme Co" if preset in ("ashby", "lever") else "acme"
    plain = url.partition("?")[0]
    assert [board_of(each) for each in (url, plain, f"{plain}/")] == [(preset, name)] * 3
    assert board_of(f"{plain}?department=7") is None
    assert board_of(f"{plain.rstrip('/')}/7/x") is None
    assert board_of(plain.replace("https:", "http:")) is None


def test_a_board_is_drafted_with_its_preset_and_all_its_pages(acme, monkeypatch):
    """The postings of the sample, of which the list has one on each page and no text."""
    postings = json.loads((SAMPLES / "smartrecruiters.json").read_text())["content"]

    class Board(BaseHTTPRequestHandler):
        def do_GET(self):
            parts = urlsplit(self.path)
            own = parts.path.rpartition("/")[2]
            offset = int(parse_qs(parts.query).get("offset", ["0"])[0])
            page = [
                {"id": each["id"], "name": each["name"], "ref": f"{place}/acme/postings/{each['id']}"}
                for each in postings[offset : offset + 1]
            ]
            listed = {"offset": offset, "totalFound": len(postings), "content": page}
            answer = listed if own == "postings" else next(each for each in postings if each["id"] == own)
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps(answer).encode())

        def log_message(self, *_):
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Board) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        place = f"http://127.0.0.1:{server.server_port}"
        monkeypatch.setitem(boards()["smartrecruiters"], "url", f"{place}/{{board}}/postings?limit=100")
        made = acme.run("feed", "new", "web", "--from", f"{place}/acme/postings", *HOST)
        assert (made.code, made.err) == (0, "")
        assert "mapping: preset smartrecruiters" in made.out
        assert f"{len(postings)} records" in made.out
        source, text = source_of(acme, "web")
        assert source == {"board": "acme", "every": "1h", "insecure_hosts": ["127.0.0.1"]}
        assert tomllib.loads(text)["preset"] == "smartrecruiters"
        assert acme.run("feed", "fetch", "web").code == 0
        server.shutdown()
    (file,) = (acme.drop_folder / "web").glob("*-postings.jsonl")
    assert len(file.read_text().splitlines()) == len(postings)
