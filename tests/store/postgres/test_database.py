"""A store on a server: the differences from a store in a file."""

from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from msgspec.structs import replace

from syncd.domain import Create, Job, RejectedRow, Update
from syncd.errors import Problem, StoreBusy, StoreError
from syncd.store import StaleDecision, Store, Tx, database_at, employers, feeds, jobs, run_results, runs
from syncd.store.postgres import search
from syncd.store.postgres.session import COPIED, as_copy
from tests.e2e.conftest import wait_until
from tests.store.board import ACTOR, TORONTO, Board, a_job, ask
from tests.stores import change, rows_in, server, store_url


def test_texts_are_ordered_by_code_point_whatever_the_language_of_the_database(store, path):
    assert rows_in(path, "SELECT 'a' < 'B'") == [(True,)]  # the database itself orders as people do
    found = rows_in(
        path,
        "SELECT table_name, column_name FROM information_schema.columns WHERE table_schema = 'public'"
        " AND data_type IN ('text', 'character varying') AND collation_name IS DISTINCT FROM 'C'"
        " AND table_name <> 'alembic_version'",
    )
    assert found == []


async def test_a_look_up_of_one_statement_sends_nothing_besides(store, path):
    sent = f"SELECT query FROM pg_stat_activity WHERE datname = '{server().database_of(path)}' AND state = 'idle'"
    before = Counter(server().sql(sent))
    for _ in range(2):
        assert store.look_up(employers.all) == []
    ((query,),) = (Counter(server().sql(sent)) - before).elements()
    assert query.startswith("SELECT employer.id")


def test_a_look_up_of_one_statement_has_no_second_one_which_would_see_another_moment(store):
    def twice(tx: Tx) -> int:
        return len(employers.all(tx)) + len(employers.all(tx))

    with pytest.raises(RuntimeError, match="see another moment"):
        store.look_up(twice)
    assert store.read(twice) == 0
    assert store.look_up(employers.all) == []


def test_look_ups_that_were_planned_for_an_empty_table_use_its_index_once_it_has_grown(store, path):
    employer = store.write(lambda tx: employers.add(tx, "Acme"))

    def create(tx: Tx, references: list[str]) -> None:
        assert jobs.by_references(tx, employer.id, references) == {}
        jobs.apply(
            tx, [Create(a_job(employer.id, reference_id=reference)) for reference in references], ACTOR
        )

    for first in range(0, 5_000, 50):
        store.write(partial(create, references=[f"r{n}" for n in range(first, first + 50)]))
    # The server notes the reads of its connections now and then.
    seen = (
        "SELECT n_tup_ins, seq_tup_read + idx_tup_fetch FROM pg_stat_user_tables"
        " WHERE relname = 'job' AND n_tup_ins >= 5000"
    )
    ((inserted, read),) = wait_until(lambda: rows_in(path, seen), "the note of all jobs")
    assert read < 25 * inserted  # twice as many where they read all jobs of the employer


def test_several_daemons_may_use_one_store_and_give_out_no_id_twice(open_store):
    one, two = open_store(exclusive=True), open_store(exclusive=True)
    employer = one.write(lambda tx: employers.add(tx, "Acme"))
    with ThreadPoolExecutor(16) as pool:
        made = list(
            pool.map(lambda n: Board((one, two)[n % 2], employer).create(reference_id=f"r{n}").id, range(100))
        )
    assert sorted(made) == list(range(1, 101))
    assert two.read(lambda tx: jobs.count(tx, employer.id)) == 100
    assert one.read(jobs.totals) == two.read(jobs.totals)


def test_a_database_with_another_default_of_isolation_changes_nothing(open_store, path):
    name = server().database_of(path)
    server().sql(f"ALTER DATABASE {name} SET default_transaction_isolation = 'repeatable read'")
    try:
        one, two = open_store(), open_store()
        employer = one.write(lambda tx: employers.add(tx, "Acme"))
        with ThreadPoolExecutor(8) as pool:
            made = list(
                pool.map(
                    lambda n: Board((one, two)[n % 2], employer).create(reference_id=f"r{n}").id, range(60)
                )
            )
        assert sorted(made) == list(range(1, 61))
    finally:
        server().sql(f"ALTER DATABASE {name} RESET ALL")


def test_a_statement_that_takes_longer_than_the_server_allows_is_refused_with_the_reason(store):
    def slow(tx: Tx) -> None:
        tx.execute("SET LOCAL statement_timeout = '10ms'")
        tx.execute("SELECT pg_sleep(5)")

    with pytest.raises(StoreBusy, match=r"the server refuses \(canceling statement due to statement timeout"):
        store.read(slow)


def test_rows_that_are_read_one_by_one_stay_with_the_server_until_then(store, employer):
    feed = store.write(lambda tx: feeds.feed_id(tx, "acme", employer.id))
    run = store.write(lambda tx: runs.begin(tx, feed, employer.id, "a.csv", 1, None))
    problem = Problem("/a", "b", "c")
    rows = [RejectedRow(number, None, None, (problem,), None) for number in range(2_500)]
    store.write(lambda tx: run_results.add_rejected(tx, run.id, rows))

    def read(tx: Tx) -> tuple[list[int], list[int], int]:
        found = [row.record for row in run_results.rejected_rows(tx, run.id)]
        two = [run_results.rejected_rows(tx, run.id) for _ in range(2)]  # at once, and not to the end
        begun = [next(each).record for each in two for _ in range(2)]
        ((cursors,),) = tx.execute("SELECT count(*) FROM pg_cursors WHERE name LIKE 'stream%'")
        return found, begun, cursors

    for _ in range(2):  # on the same connection
        assert store.read(read) == (list(range(2_500)), [0, 1, 0, 1], 3)


def test_a_lock_is_given_up_with_its_block_and_with_its_connection(store, path):
    with pytest.raises(KeyError), store.feed_lock("acme"):
        raise KeyError
    for _ in range(2):
        with store.feed_lock("acme") as mine:
            assert mine
            locks = "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
            assert rows_in(path, locks) == [(True,)]


def test_what_a_thread_writes_under_a_lock_that_is_lost_is_refused(store, path):
    def add(name: str):
        return store.write(lambda tx: employers.add(tx, name))

    with ThreadPoolExecutor(1) as other, store.feed_lock("acme") as mine:
        assert mine
        add("with the lock")
        assert rows_in(
            path, "SELECT pg_terminate_backend(pid, 5000) FROM pg_locks WHERE locktype = 'advisory'"
        )
        with pytest.raises(StoreBusy, match="the lock 'acme' was lost with its connection"):
            add("without it")
        other.submit(add, "of another thread").result()
    add("afterwards")
    found = [employer.name for employer in store.read(employers.all)]
    assert found == ["with the lock", "of another thread", "afterwards"]


def test_locks_are_on_the_address_for_locks(open_store):
    store = open_store(lock_url=server().url("nowhere"))
    with pytest.raises(StoreBusy, match=r"cannot be used now.*does not exist"), store.feed_lock("acme"):
        pass
    store = open_store(lock_url=server().url("postgres"))
    with store.feed_lock("acme") as mine:
        assert mine


def test_nothing_is_prepared_for_a_pooler_which_may_not_keep_it(open_store, path):
    counts = {}
    for lock_url in ("", store_url(path)):  # one of its own is needed behind a pooler
        store = open_store(lock_url=lock_url)
        for number in range(5):
            name = f"Employer {bool(lock_url)} {number}"
            store.write(lambda tx, name=name: employers.add(tx, name))
        found = store.write(lambda tx: tx.execute("SELECT count(*) FROM pg_prepared_statements").fetchone())
        counts[bool(lock_url)] = found[0]
    assert counts[False] > 0
    assert counts[True] == 0


def test_a_text_with_nul_is_found_nowhere(store, employer, board):
    board.create(reference_id="r\ufffd")
    assert store.read(lambda tx: jobs.by_reference(tx, employer.id, "r\0")) is None
    assert store.read(lambda tx: jobs.by_references(tx, employer.id, ["r\0"])) == {}


#: Texts that the form in which rows are copied writes otherwise.
TEXTS = [
    "tab\t",
    "line\nfeed\r\n",
    "back\\slash",
    "\\N",
    "\\.",
    "é😀\u2028",
    "''\"{}",
    "NULL",
    " ",
    "$1 %s",
]


def test_many_rows_are_copied_as_one_by_one(board, store, employer):
    bare = a_job(employer.id, reference_id=None, description=None, confidential=True)
    made = [a_job(employer.id, title=text, reference_id=text, description=text) for text in TEXTS]

    def create(job: Job):
        return store.write(lambda tx: jobs.apply(tx, [Create(job)], ACTOR))[0].id

    one_by_one = [create(job) for job in (*made, bare)]
    again = [replace(job, reference_id=f"{job.reference_id} again") for job in made]
    many = [*again, bare, *(a_job(employer.id, reference_id=f"r{number}") for number in range(COPIED))]

    def apply(tx: Tx) -> list[int]:
        stored = jobs.apply(tx, [Create(job) for job in many], ACTOR)
        inserted = tx.execute(
            "SELECT 1 FROM pg_prepared_statements WHERE statement LIKE 'INSERT INTO job (%'"
        )
        assert inserted.fetchall() == []
        return [job.id for job in stored]

    copied = store.write(apply)
    kept = store.read(lambda tx: jobs.by_ids(tx, [*copied, *one_by_one]))
    for one, number in zip(one_by_one, copied, strict=False):
        before, after = kept[one], kept[number]
        assert replace(after, id=one, reference_id=before.reference_id) == before
        assert after.reference_id == (before.reference_id and f"{before.reference_id} again")


def test_of_many_rows_none_is_kept_if_one_has_the_key_of_another_row(store, employer, path):
    new = [Create(a_job(employer.id, reference_id=f"r{number}")) for number in range(COPIED)]
    with pytest.raises(StaleDecision):
        store.write(lambda tx: jobs.apply(tx, [*new, new[7]], ACTOR))
    assert store.read(lambda tx: jobs.count(tx, employer.id)) == 0
    made = store.write(lambda tx: jobs.apply(tx, new, ACTOR))
    assert store.read(lambda tx: jobs.count(tx, employer.id)) == COPIED
    renamed = [Update(job, replace(job, title="\\N\t"), ("title",)) for job in made]
    store.write(lambda tx: jobs.apply(tx, renamed, ACTOR))
    entries = "SELECT count(*) FROM history WHERE action = 'updated' AND before = '{\"title\":\"Baker\"}'"
    assert rows_in(path, entries) == [(COPIED,)]


@pytest.mark.parametrize(
    ("text", "copied"),
    [
        ("INSERT INTO t (a, b) VALUES ($1, $2)", "COPY t (a, b) FROM STDIN"),
        ("INSERT INTO t (a, b) VALUES ($2, $1)", None),
        ("INSERT INTO t (a, b) VALUES ($1, 0)", None),
        ("INSERT INTO t (a, b) VALUES ($1, $1)", None),
        ("INSERT INTO t (a) VALUES ($1) RETURNING t.a", None),
        ("INSERT INTO t (a) VALUES ($1) ON CONFLICT DO NOTHING", None),
        ("UPDATE t SET a = $1", None),
    ],
)
def test_only_an_insert_of_its_parameters_in_order_is_copied(text, copied):
    assert as_copy(text, [None] * COPIED) == copied
    assert as_copy(text, [None] * (COPIED - 1)) is None


def test_a_long_text_that_is_searched_has_room(board, store, employer):
    job = board.create(title="".join(chr(0x10000 + n) for n in range(256)), reference_id="é" * 50)
    total, found = store.read(
        lambda tx: jobs.page(tx, employer.id, q="E" * 50, status=None, page=1, page_size=5)
    )
    assert (total, [header.id for header in found]) == (1, [job.id])


@pytest.mark.parametrize(
    "term", ["bak", "ba", "b", "%", "_", "\\", "'", "\\'", "a%c", "k\\e", "ake", "$1", "%s", "t manager 77"]
)
@pytest.mark.parametrize("limits", [(200, 500), (0, 500), (0, 1)])
def test_a_search_finds_the_jobs_that_contain_the_term_with_and_without_the_index(
    open_store, path, term, limits, monkeypatch
):
    for name, limit in zip(("MAX_SORTED", "SPARE"), limits, strict=True):
        monkeypatch.setattr(search, name, limit)
    store = open_store()
    board = Board(store, store.write(lambda tx: employers.add(tx, "Acme")))
    titles = ["baker", "100 %", "snake_case", "k\\eeper", "it's \\'", "a%c", "cost $1 %s", "shift manager 77"]
    made = [board.create(title=title) for title in titles]
    ids = [job.id for job in made[::-1] if term in job.title]
    for command in ("SELECT 1", "DROP EXTENSION pg_trgm CASCADE"):
        change(path, command)
        assert ask(store, board.employer, term, size=9) == (len(ids), ids)
        for number, job_id in enumerate(ids, start=1):  # the second half is counted from the end of the list
            assert ask(store, board.employer, term, None, number, size=1) == (len(ids), [job_id])


def test_the_index_is_made_again_when_the_store_is_opened_and_done_without_where_the_server_lacks_it(
    open_store, path
):
    open_store().close()
    change(path, "DROP EXTENSION pg_trgm CASCADE")
    open_store().close()
    index = "SELECT count(*) FROM pg_class WHERE relname = 'ix_job_search'"
    assert rows_in(path, index) == [(1,)]
    change(path, "DROP EXTENSION pg_trgm CASCADE")
    user = f"weak{server().database_of(path)}"
    change(path, f"CREATE ROLE {user} LOGIN; GRANT ALL ON ALL TABLES IN SCHEMA public TO {user}")
    with Store.open(store_url(path).replace("//syncd@", f"//{user}@"), timezone=TORONTO) as store:
        assert store.read(employers.all) == []
    assert rows_in(path, index) == [(0,)]
    change(path, f"DROP OWNED BY {user}; DROP ROLE {user}")


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("postgresql://u:s3cret@[/d", "the address of the store is not postgresql://USER:PASSWORD@HOST"),
        ("postgresql://u:s3cret%zz@h/d", "the address of the store is not"),
        ("postgresql://u:s3cret@h/d?nonsense=1", "the address of the store is not"),
        ("postgresql://u:s3cret@/d?host=/nowhere", "the server cannot be reached"),
        ("postgresql://u:s3cret@127.0.0.1:1/d", "the server cannot be reached"),
    ],
)
def test_an_address_that_leads_nowhere_is_an_error_without_the_password(url, words):
    with pytest.raises(StoreError, match=words) as caught:
        Store.open(url, timezone=TORONTO)
    error: BaseException | None = caught.value
    assert "s3cret" not in str(error)


def test_a_database_that_cannot_hold_every_text_is_refused():
    server().sql(
        "CREATE DATABASE ascii ENCODING 'SQL_ASCII' LC_COLLATE 'C' LC_CTYPE 'C' LOCALE_PROVIDER libc TEMPLATE template0"
    )
    with pytest.raises(
        StoreError, match="has the encoding SQL_ASCII; syncd needs version 15 or newer, and UTF8"
    ):
        Store.open(server().url("ascii"), timezone=TORONTO)
    server().sql("DROP DATABASE ascii")


def test_whether_there_is_a_store_is_asked_without_making_one(path):
    assert database_at(store_url(path)).exists()
    name = server().new_database()
    assert not database_at(server().url(name)).exists()
    assert server().sql("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'", name) == [(0,)]
    server().sql(f"DROP DATABASE {name}")


def test_a_new_database_becomes_a_store(clock):
    name = server().new_database()
    with ThreadPoolExecutor(4) as pool:  # daemons that start at once
        list(pool.map(lambda _: Store.open(server().url(name), timezone=TORONTO).close(), range(4)))
    with Store.open(server().url(name), timezone=TORONTO) as store:
        assert store.read(employers.all) == []
    server().sql(f"DROP DATABASE {name}")
