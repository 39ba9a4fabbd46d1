"""A key that sends descriptions of a megabyte, which are costly to judge, does not slow another key down."""

import contextlib
import http.client
import json
import multiprocessing
import threading
import time

import pytest

from tests.amounts import nightly

pytestmark = pytest.mark.slow
BASE = "/api/v1.1"
SIZE, CONNECTIONS = 900_000, 8
#: The other key sends as many requests in each round, with as many seconds between two of them. In the middle one of the rounds
#: one request in a hundred may take longer than LATE (seconds), or than BUSIER times as long as without the large bodies,
#: shortly before and after them: other tests run beside this one.
REQUESTS, PACE, LATE, BUSIER, ROUNDS = 300, 0.01, 0.1, 4, 3
JOB = {"title": "Cook", "locations": [{"description": "Halifax, NS"}], "categories": [{"id": 1}]}
#: Kind → the beginning of a description, the piece that repeats in it, and its end.
DESCRIPTIONS = {
    "attributes": [("<a ", "x=y ", ">"), ("<a ", "x ", ""), ("</p ", "x=y ", ">"), ("<u ", "' ", ">")],
    "faults": [("", "<u>", ""), ("", "<p ", ""), ("", "<!-- x -->", ""), ("", '<a href="', "")],
    "allowed tags": [("", "<p>", ""), ("", "<b/>", ""), ("", "<P >", ""), ("", "<a href='http://x.ca'>", "")],
    "text": [("", "&lt;", ""), ("", "a < b < c ", ""), ("", "<", ""), ("", "Lorem ipsum. ", "")],
}


def send_descriptions(address, key, kind, begun, halt):
    """Send PUT after PUT of large descriptions over each of the connections, until ``halt``. Set ``begun`` after the first
    answer."""
    bodies = [
        json.dumps(
            {
                **JOB,
                "referenceId": f"L-{number}",
                "description": f"NUMBER {head}{piece * (SIZE // len(piece))}{end}",
            }
        )
        for number, (head, piece, end) in enumerate(DESCRIPTIONS[kind])
    ]

    def send(number):
        connection = http.client.HTTPConnection(address, timeout=60)
        while not halt.is_set():
            text = bodies[number % len(bodies)].replace("NUMBER", str(number), 1)  # so each changes its job
            status, _ = put(connection, key, text)
            assert status in (200, 201, 422)
            begun.set()
            number += CONNECTIONS + 1
        connection.close()

    threads = [threading.Thread(target=send, args=(number,)) for number in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def put(connection, key, text):
    """Return the status of the answer, and the seconds until all of it is there."""
    headers = {"API-Key": key, "Content-Type": "application/json"}
    return timed(connection, "PUT", f"{BASE}/jobs", text, headers)


def timed(connection, method, path, body=None, headers=None):
    began = time.perf_counter()
    connection.request(method, path, body, headers or {})
    answer = connection.getresponse()
    answer.read()
    return answer.status, time.perf_counter() - began


def longest(connection, key):
    """Return the seconds that all but one in a hundred requests of a round stay below, and the statuses of ``/readyz``."""
    taken, ready, headers = [], set(), {"API-Key": key}
    for number in range(REQUESTS):
        if number % 2:
            status, seconds = timed(connection, "GET", f"{BASE}/jobs", headers=headers)
        else:
            text = json.dumps({**JOB, "referenceId": f"S-{number % 5}", "title": f"Cook {number}"})
            status, seconds = put(connection, key, text)
        assert status in (200, 201)
        taken.append(seconds)
        if number % 10 == 0:
            ready.add(timed(connection, "GET", "/readyz")[0])
        time.sleep(PACE)
    return sorted(taken)[-1 - REQUESTS // 100], ready


@nightly
@pytest.mark.parametrize("kind", DESCRIPTIONS)
def test_descriptions_of_a_megabyte_over_eight_connections_do_not_slow_another_key_down(
    installation, start, kind
):
    key = installation.employer_with_key()
    assert installation.run("employer", "add", "Other Ltd.").code == 0
    other = installation.run("key", "create", "Other Ltd.").out.strip()
    daemon = start(real=True)
    context = multiprocessing.get_context("spawn")
    begun, halt = context.Event(), context.Event()
    load = context.Process(
        target=send_descriptions, args=(daemon.address(), key, kind, begun, halt), daemon=True
    )
    with contextlib.closing(http.client.HTTPConnection(daemon.address(), timeout=60)) as connection:
        before, _ = longest(connection, other)
        load.start()
        try:
            assert begun.wait(60)
            rounds = [longest(connection, other) for _ in range(ROUNDS)]
            assert load.is_alive()
        finally:
            halt.set()
            load.join(60)
        after, _ = longest(connection, other)
    assert all(ready == {200} for _, ready in rounds)
    assert sorted(seconds for seconds, _ in rounds)[ROUNDS // 2] < max(LATE, BUSIER * max(before, after))
    assert daemon.stop() == 0
