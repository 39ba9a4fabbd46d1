"""The view of clients of a server that stops."""

import asyncio
import socket
from contextlib import ExitStack, suppress

import pytest


async def test_a_stopping_server_finishes_requests_and_refuses_new_ones(api):
    whole = api.whole("POST", api.body(title="In flight"))
    busy, idle, halfway = [await api.wire() for _ in range(3)]
    await busy.send(whole[:-20])
    await halfway.send(api.head()[:60])
    await asyncio.sleep(0.1)
    stopping = asyncio.ensure_future(api.client.server.retire())
    await asyncio.sleep(0.1)

    await idle.send(api.head())
    status, headers, problem = await idle.answer()
    assert (status, problem["code"]) == (503, "shutting_down")
    assert headers["retry-after"] == "1"
    assert await idle.closed()

    status, headers, problem = await halfway.answer()
    assert (status, problem["code"], headers["retry-after"]) == (503, "shutting_down", "1")
    assert await halfway.closed()

    await busy.send(whole[-20:])
    status, headers, problem = await busy.answer()
    assert (status, problem["title"]) == (201, "In flight")
    assert await busy.closed()
    async with asyncio.timeout(5):
        await stopping
    try:
        late = await api.wire()
    except ConnectionRefusedError:
        pass
    else:
        raise AssertionError(f"somebody listens: {late}")


async def test_a_server_without_connections_stops_at_once(serve):
    async with serve() as api:
        started = asyncio.get_running_loop().time()
        await api.client.server.retire()
        assert asyncio.get_running_loop().time() - started < 0.2


async def answered(client: socket.socket) -> bool:
    """Return whether a client that has sent its request gets an answer."""
    with suppress(ConnectionError):
        return bool(await asyncio.get_running_loop().sock_recv(client, 1))
    return False


@pytest.mark.parametrize("turns", range(6))
async def test_every_connection_that_a_stopping_server_has_accepted_is_answered(turns, api):
    """The next server has the same socket, as with systemd, and the connections that the first has not accepted. There is no
    connection that neither answers, however many turns of its loop the first has had since the clients came."""
    server = api.client.server
    with ExitStack() as stack:
        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=64))
        await server.listen(listener.dup())
        clients = [stack.enter_context(socket.create_connection(listener.getsockname())) for _ in range(20)]
        for client in clients:
            client.sendall(api.head())
            client.setblocking(False)
        for _ in range(turns):
            await asyncio.sleep(0)
        await server.retire()
        listener.setblocking(False)
        left = set()
        with suppress(BlockingIOError):
            while True:
                connection, address = listener.accept()
                connection.close()
                left.add(address)
        accepted = [client for client in clients if client.getsockname() not in left]
        async with asyncio.timeout(5):
            assert all([await answered(client) for client in accepted])


async def test_a_client_that_has_just_connected_may_still_send_its_request(api):
    used, new = await api.wire(), await api.wire()
    await used.send(api.head())
    assert (await used.answer())[0] == 200
    stopping = asyncio.ensure_future(api.client.server.retire())
    await asyncio.sleep(0.8)
    await new.send(api.head())
    status, _, problem = await new.answer()
    assert (status, problem["code"]) == (503, "shutting_down")
    async with asyncio.timeout(5):
        await stopping


async def test_a_client_that_never_sends_a_request_holds_up_the_stop_for_two_seconds_at_most(api):
    await api.wire()
    clock = asyncio.get_running_loop().time
    started = clock()
    await api.client.server.retire()
    assert clock() - started < 3
