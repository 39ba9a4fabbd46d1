"""How many connections may be open."""

from syncd.web.connections.connection_limit import ConnectionLimit


def test_doors_count_in_all_and_by_address_and_forget_who_left() -> None:
    doors = ConnectionLimit(4, 2)
    assert [doors.enter("a"), doors.enter("a"), doors.enter("b")] == ["", "", ""]
    assert "from this address" in doors.enter("a")
    assert "too many connections are open" in doors.enter("c")
    for address in "aca":
        doors.leave(address)
    assert doors.enter("a") == ""


def test_doors_without_a_cap_let_everyone_in_and_the_nameless_count_in_the_total_only() -> None:
    open_doors = ConnectionLimit(0, 0)
    assert {open_doors.enter("a") for _ in range(100)} == {""}
    doors = ConnectionLimit(3, 1)
    assert [bool(doors.enter("")) for _ in range(4)] == [False, False, False, True]
