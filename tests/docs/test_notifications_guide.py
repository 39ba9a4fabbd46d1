"""docs/operations.md "Notifications": what it says about webhooks is true of those that are sent."""

import json
import re
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from syncd.domain import Notice, NoticeEvent
from syncd.notify.ways import body_of, signature_of

GUIDE = (Path(__file__).parents[2] / "docs" / "operations.md").read_text()
SECTION = GUIDE.partition("\n### Notifications\n")[2].partition("\n## ")[0]
NOTICE = Notice(
    NoticeEvent.HELD, "acme", "Montréal", 7, "held", {"read": 1}, key="a" * 32, at=datetime.now(UTC)
)


def verify():
    """The function of the guide that verifies a signature."""
    code = re.search(r"<!-- snippet: verify -->\n```python\n(.*?)```", SECTION, re.S)
    assert code
    names: dict[str, Any] = {}
    exec(code[1], names)
    return names["is_from_syncd"]


def signed(body, timestamp, secret="a-secret-of-the-hook"):
    return {"Syncd-Timestamp": str(timestamp), "Syncd-Signature": signature_of(secret, timestamp, body)}


def test_the_snippet_accepts_what_syncd_signs_and_nothing_else():
    is_from_syncd, secret = verify(), "a-secret-of-the-hook"
    body, now = body_of(NOTICE, "https://syncd.example.ca"), int(time.time())
    headers = signed(body, now)
    assert is_from_syncd(secret, headers, body)
    assert not is_from_syncd(secret, headers, body + b" ")
    assert not is_from_syncd("another-secret-of-it", headers, body)
    assert not is_from_syncd(secret, signed(body, now - 301), body)
    assert not is_from_syncd(secret, {**headers, "Syncd-Timestamp": str(now - 1)}, body)
    assert not is_from_syncd(secret, {**headers, "Syncd-Signature": "v1=é"}, body)
    assert not is_from_syncd(secret, {}, body)


def test_every_member_of_the_body_is_documented():
    members = [name for row in re.findall(r"^\| ((?:`[a-z]+` ?)+)\|", SECTION, re.M) for name in row.split()]
    body = json.loads(body_of(NOTICE, "https://syncd.example.ca"))
    assert sorted(name.strip("`") for name in members) == sorted(body)


def test_every_event_is_documented():
    assert set(re.findall(r"^\| `((?:feed|service|source)\.[a-z]+)`", SECTION, re.M)) == {
        *map(str, NoticeEvent)
    }
