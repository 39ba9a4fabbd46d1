"""HTTP answers as text, and the requests that read everything the scenario left."""

import json
import re

from tests.golden.doors import Answer, Api
from tests.golden.golden import MASK, PROSE, masked
from tests.golden.scenario import BASE

#: Headers that differ each time, or are those of every answer.
_PASSING = ("Date", "X-Request-Id")
_ALWAYS = {"Server": "syncd", "X-Content-Type-Options": "nosniff"}
_PROBLEM = {*PROSE, "title", "requestId", "hint"}
#: The ids of the scenario's jobs, with those that were deleted (8 and 29) and one that does not exist (33).
JOBS = range(1, 34)


def text_of(answer: Answer) -> str:
    """Return the status, the headers in alphabetical order and the body; without the headers that all answers have. The prose
    of a problem is masked."""
    assert {name: answer.headers.get(name) for name in _ALWAYS} == _ALWAYS
    headers = "".join(
        f"{name}: {value}\n"
        for name, value in sorted(answer.headers.items())
        if name not in (*_PASSING, *_ALWAYS)
    )
    body = answer.text
    if answer.headers.get("Content-Type") == "application/problem+json":
        headers = re.sub(r"Content-Length: \d+", f"Content-Length: {MASK}", headers)
        body = json.dumps(masked(answer.json, _PROBLEM), ensure_ascii=False)
    return f"{answer.status}\n{headers}\n{body}\n"


def transcript(answers: dict[str, Answer]) -> str:
    return "".join(f"### {name}\n{text_of(answer)}\n" for name, answer in answers.items())


def reading(api: Api, keys: dict[str, str]) -> dict[str, Answer]:
    """Return the answers to GET for every job, to lists, pages and searches, and to keys without access."""
    maple, birch = keys["maple"], keys["birch"]
    found: dict[str, Answer] = {}

    def get(path: str, key: str = maple, method: str = "GET", **headers: str) -> None:
        label = next(name for name, value in keys.items() if value == key)
        shown = " ".join([label, method, path, *headers.values()])
        found[shown] = api(method, BASE + path, key, **headers)

    for job_id in JOBS:
        get(f"/jobs/{job_id}", birch if job_id in range(21, 26) else maple)
    get("/jobs/21")
    get("/jobs/1", keys["old"])
    get("/jobs/1", keys["gone"])
    get("/jobs/26", method="HEAD")
    for query in (
        *("pageSize=100", "pageSize=3&page=2", "page=99", "status=draft", "status=archived"),
        *(
            "status=active&pageSize=5",
            "q=welder&pageSize=100",
            "q=WELD&status=active&pageSize=2",
            "q=prepose",
        ),
        *("q=C-0", "q=h-1b", "q=e", "q=%22all%22", "q=nothing+like+it"),
    ):
        get(f"/jobs?{query}")
    get("/jobs?pageSize=100", birch)
    get("/jobs?q=nurse", birch)
    return found
