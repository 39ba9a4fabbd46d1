"""``syncd status``, ``syncd reload`` and ``syncd notify test``."""

import json
import sys
from http.client import HTTPConnection, HTTPException
from typing import Any

from syncd.cli.output import DONE, FAILED, clean, print_list, print_result, remark
from syncd.config import Settings
from syncd.errors import ConfigError, SyncdError
from syncd.logs import journal_mark
from syncd.service import served
from syncd.values import plural

#: The members of the answer to a reload.
RELOADED = ("degraded", "sources", "faults", "feeds")
#: Seconds: a reload reads every feed's file and waits for the store.
TIMEOUT = 60.0
#: The address to connect to where the daemon listens on every interface.
_LOOPBACK = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - nothing listens here


def reload(settings: Settings, as_json: bool) -> int:
    """Have the daemon reload and print the result. Raises SyncdError if it does not answer as it should, ConfigError."""
    answer = ask_to_reload(settings)
    degraded, sources, faults, feeds = (answer[key] for key in RELOADED)
    listed = f"{plural(len(feeds), 'feed')}: {', '.join(feeds) or 'none'}"
    print_result(as_json, answer, clean("nothing was reloaded" if faults else listed))
    if not as_json:
        mark = journal_mark("warning", sys.stderr)
        reasons = (f"{name}: {reason}" for wrong in (degraded, sources) for name, reason in wrong.items())
        for fault in (*faults, *reasons):
            remark(f"{mark}syncd: {clean(fault)}")
    return FAILED if faults or degraded or sources else DONE


def ask_to_reload(settings: Settings) -> dict[str, Any]:
    """Have the daemon reload; return its answer. Raises SyncdError if it does not answer as it should."""
    code, answer = _ask(settings, "POST", "/reload")
    if code != 200 or not answer.keys() >= {*RELOADED}:
        raise _strange(settings, code, answer)
    return answer


def status(settings: Settings, as_json: bool) -> int:
    """Print how things are with the daemon; return 0 if all is well, else 1. Raises SyncdError if it does not answer."""
    code, answer = _ask(settings, "GET", "/readyz")
    if code not in (200, 503) or not answer.keys() >= {"well", "headline", "needs", "paused"}:
        raise _strange(settings, code, answer)
    lines = [answer["headline"]]
    for each in answer["needs"]:
        state = "its source" if each["part"] == "source" else each["state"]
        lines.append(f"  {each['feed'] or each['part']}: {state}: {each['reason']}")
    lines += [f"  {each['feed']}: paused: {each['reason']}" for each in answer["paused"]]
    lines += [f"  {part}: ok" for part in ("clock", "disk", "store") if answer.get(part) == "ok"]
    print_result(as_json, answer, "\n".join(map(clean, lines)))
    return DONE if answer["well"] else FAILED


def faults_of_service(settings: Settings) -> list[str]:
    """Return the faults of the clock, the disk and the store for which no file is run; none where this installation's daemon does
    not run, or does not answer."""
    known = served.served_store(settings)
    if known is None or not known[1]:
        return []
    try:
        _, answer = _ask(settings, "GET", "/readyz")
    except SyncdError:
        return []
    faults = [each for each in answer.get("needs", []) if each["part"] in ("clock", "disk", "store")]
    return [f"{each['part']}: {each['reason']}" for each in faults]


def _strange(settings: Settings, code: int, answer: dict[str, Any]) -> SyncdError:
    address = settings.operator.listen or settings.api.listen
    return SyncdError(f"{address} answers {code}: {answer.get('detail', 'it is not syncd')}")


def _ask(settings: Settings, method: str, path: str) -> tuple[int, dict[str, Any]]:
    """Return the status and the object with which the daemon answers. Raises SyncdError if it does not."""
    address = settings.operator.listen or settings.api.listen
    token = settings.operator.token
    connection = HTTPConnection(_LOOPBACK.get(address.host, address.host), address.port, timeout=TIMEOUT)
    try:
        connection.request(method, path, headers={"Authorization": f"Bearer {token}"} if token else {})
        response = connection.getresponse()
        body = response.read()
    except (OSError, HTTPException) as error:
        why = error.strerror if isinstance(error, OSError) else None
        raise SyncdError(f"no daemon answers at {address} ({why or error}); is it running?") from error
    finally:
        connection.close()
    try:
        answer = json.loads(body)
    except ValueError:
        answer = None
    return response.status, answer if isinstance(answer, dict) else {"detail": "it is not syncd"}


def try_notifications(settings: Settings, as_json: bool) -> int:
    """Print the results of a test message to each receiver; return 1 if one did not accept it. Raises ConfigError."""
    import asyncio

    from syncd.notify import try_all

    if not (settings.notify.webhook or settings.notify.email_to):
        raise ConfigError(["nobody is notified: set notify.webhook or notify.email_to"])
    trials = asyncio.run(try_all(settings))
    rows = [(t["way"], t["to"], "sent" if t["sent"] else "failed", t["answer"]) for t in trials]
    print_list(as_json, trials, ("way", "to", "result", "answer"), rows, "")
    failed = [f"{trial['way']} to {trial['to']}: {trial['answer']}" for trial in trials if not trial["sent"]]
    for each in failed:
        remark(f"syncd: not sent: {clean(each)}")
    return FAILED if failed else DONE
