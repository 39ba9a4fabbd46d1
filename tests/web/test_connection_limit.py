"""How many connections may be open."""

from syncd.web.limits import ConnectionLimit


def test_connections_count_in_all_and_by_address_until_they_leave() -> None:
    limit = ConnectionLimit(4, 2)
    assert [limit.enter("a"), limit.enter("a"), limit.enter("b")] == ["", "", ""]
    assert "from this address" in limit.enter("a")
    assert "too many connections are open" in limit.enter("c")
    for address in "aca":
        limit.leave(address)
    assert limit.enter("a") == ""


def test_without_a_limit_all_enter_and_the_nameless_count_in_the_total_only() -> None:
    unlimited = ConnectionLimit(0, 0)
    assert {unlimited.enter("a") for _ in range(100)} == {""}
    limit = ConnectionLimit(3, 1)
    assert [bool(limit.enter("")) for _ in range(4)] == [False, False, False, True]
