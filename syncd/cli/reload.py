"""``syncd reload``."""

from __future__ import annotations

import json
import sys
from http.client import HTTPConnection, HTTPException
from typing import Any

from syncd.cli.output import DONE, FAILED, clean, print_result, remark
from syncd.config import Settings
from syncd.errors import SyncdError
from syncd.logs import journal_mark
from syncd.values import plural

#: Seconds: a reload reads every feed's file and waits for the store.
TIMEOUT = 60.0
#: What to connect to where the daemon listens on every interface.
_LOOPBACK = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing listens here


def reload(settings: Settings, as_json: bool) -> int:
    """Have the daemon reload and print what came of it. Raises SyncdError if it does not answer as it should, ConfigError."""
    found = _ask(settings)
    degraded, faults, feeds = found["degraded"], found["faults"], found["feeds"]
    listed = f"{plural(len(feeds), 'feed')}: {', '.join(feeds) or 'none'}"
    done = "nothing was reloaded" if faults else listed
    print_result(as_json, found, clean(done))
    if not as_json:
        mark = journal_mark("warning", sys.stderr)
        for fault in (*faults, *(f"{name}: {reason}" for name, reason in degraded.items())):
            remark(f"{mark}syncd: {clean(fault)}")
    return FAILED if faults or degraded else DONE


def _ask(settings: Settings) -> dict[str, Any]:
    address = settings.operator.listen or settings.api.listen
    token = settings.operator.token
    connection = HTTPConnection(_LOOPBACK.get(address.host, address.host), address.port, timeout=TIMEOUT)
    try:
        connection.request("POST", "/reload", headers={"Authorization": f"Bearer {token}"} if token else {})
        answer = connection.getresponse()
        body = answer.read()
    except (OSError, HTTPException) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise SyncdError(f"no daemon answers at {address} ({why or error}); is it running?") from error
    finally:
        connection.close()
    try:
        found = json.loads(body)
    except ValueError:
        found = None
    if answer.status == 200 and isinstance(found, dict) and found.keys() >= {"feeds", "degraded", "faults"}:
        return found
    detail = found.get("detail", "") if isinstance(found, dict) else "it is not syncd"
    raise SyncdError(f"{address} answers {answer.status}: {detail}")
