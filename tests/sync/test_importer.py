"""One file after another through the importer: what becomes of rows, jobs, counts and states."""


def test_smoke(board):
    body = board.row
    feed = board.feed()
    run = board.drop(feed, [body("a"), body("b")])
    assert run.state == "succeeded"
    run = board.drop(feed, [body("a"), body("b")])
    assert run.state == "unchanged"
    run = board.drop(
        feed, [body("a", title="X"), body("b"), body("b", title="c"), body("b"), body(None), {"x": 1}, 5]
    )
    run = board.drop(feed, [body("a"), body("c")])
