"""Places: finding shipped ones however they are written, adding others."""

from typing import Any, cast

import pytest

from syncd import shipped_data
from syncd.domain import Actor, ActorKind, Create, Employer, JobInput, Location, Place, place_key
from syncd.domain.places import parse_place
from syncd.store import Store, Tx, employers, jobs, places

FOUND = [
    ("Montréal, QC", "Montréal, QC"),
    ("montreal, qc", "Montréal, QC"),
    ("MONTREAL", "Montréal, QC"),
    ("Ville de Montréal, QC", "Montréal, QC"),
    ("Québec", "Québec, QC"),
    ("Quebec City", "Québec, QC"),
    ("quebec city, qc", "Québec, QC"),
    ("London", "London, ON"),
    ("Windsor", "Windsor, ON"),
    ("richmond", "Richmond, BC"),
    ("Aylmer", "Aylmer, QC"),
    ("Pont Rouge, QC", "Pont-Rouge, QC"),
    ("Saint-Jérôme, QC", "Saint-Jérôme, QC"),
    ("St-Jerome, QC", "Saint-Jérôme, QC"),
    ("St. Jérôme", "Saint-Jérôme, QC"),
    ("Sainte-Catherine, QC", "Sainte-Catherine, QC"),
    ("Ste. Catherine, QC", "Sainte-Catherine, QC"),
    ("St. Catharines, ON", "St. Catharines, ON"),
    ("Saint Catharines, Ontario", "St. Catharines, ON"),
    ("Sault Ste. Marie", "Sault Ste. Marie, ON"),
    ("sault sainte-marie, on", "Sault Ste. Marie, ON"),
    ("Saint John", "Saint John, NB"),
    ("Saint-Jean, NB", "Saint John, NB"),
    ("St. John's", "St. John's, NL"),
    ("St Johns, NL", "St. John's, NL"),
    ("St. John’s, NL", "St. John's, NL"),
    ("Saint-Jean, Terre-Neuve", "St. John's, NL"),
    ("Sudbury, ON", "Greater Sudbury, ON"),
    ("trois rivieres", "Trois-Rivières, QC"),
    ("Saint-Louis-du-Ha! Ha!, QC", "Saint-Louis-du-Ha Ha, QC"),
    ("100 Mile House", "100 Mile House, BC"),
    ("Whitehorse, YT", "Whitehorse, YT"),
    ("Iqaluit", "Iqaluit, NU"),
]


def place_of(text: str) -> Place:
    place, faults = parse_place(text)
    assert faults == []
    return place


def find(store: Store, employer: Employer, text: str) -> Location:
    return store.read(lambda tx: places.find(tx, employer.id, place_of(text)))


@pytest.mark.parametrize(("text", "description"), FOUND)
def test_a_shipped_place_is_found_however_it_is_written(store, employer, text, description):
    for _ in range(2):  # from the table, then from memory
        found = find(store, employer, text)
        assert (found.description, found.type) == (description, "city")
        assert 0 < found.id < places.FIRST_ADDED


@pytest.mark.parametrize("text", ["Montréal, AB", "Nowhereville, ON", "Saint-Jean", "Toront, ON"])
def test_a_place_that_the_catalogue_lacks_has_no_id_yet(store, employer, text):
    found = find(store, employer, text)
    assert (found.id, found.description) == (0, text)


def test_every_shipped_place_is_found_by_its_own_description_and_is_valid_input(store, employer):
    def all_of_them(tx: Tx) -> list[tuple[tuple[int, str, str], Location]]:
        rows = tx.execute("SELECT id, name, province FROM place").fetchall()
        return [(row, places.find(tx, employer.id, place_of(f"{row[1]}, {row[2]}"))) for row in rows]

    pairs = store.read(all_of_them)
    assert len(pairs) > 3000
    wrong = [(row, found) for row, found in pairs if found.description != f"{row[1]}, {row[2]}"]
    # a name that differs from another only by an accent or a hyphen gives way to the larger place
    assert all(place_key(row[1]) == place_key(found.name) for row, found in wrong)
    assert len(wrong) < 15


def located(store: Store, employer: Employer, *texts: str) -> list[str]:
    sent = JobInput({"title": "x", "locations": tuple(place_of(text) for text in texts)})
    found = store.read(lambda tx: places.locate(tx, employer.id, sent))
    assert found.fields["title"] == "x"
    return [place.description for place in cast(Any, found.fields["locations"])]


def test_the_same_place_twice_counts_once(store, employer):
    assert located(store, employer, "Montreal", "Toronto", "MONTRÉAL, QC") == ["Montréal, QC", "Toronto, ON"]
    assert located(store, employer, "Foo Bar, ON", "foo-bar, on", "Foo Bar") == ["Foo Bar, ON", "Foo Bar"]


def test_an_added_place_keeps_its_id_and_is_its_employers(board, store, employer):
    other = store.write(lambda tx: employers.add(tx, "Other"))

    def job_at(text: str, who: Employer):
        place = find(store, who, text)
        return board.create(employer_id=who.id, locations=(place,)).locations[0]

    first = job_at("Petit-Lac, QC", employer)
    assert (first.id, first.description) == (places.FIRST_ADDED, "Petit-Lac, QC")
    assert job_at("PETIT LAC, qc", employer) == first
    assert job_at("Petit-Lac", employer).id == places.FIRST_ADDED + 1
    theirs = job_at("petit lac, QC", other)
    assert (theirs.id, theirs.description) == (places.FIRST_ADDED + 2, "petit lac, QC")

    def names(who: Employer) -> list[int]:
        return [p.id for p in store.read(lambda tx: places.page(tx, who.id, q="petit-lac"))[1]]

    assert names(employer) == [places.FIRST_ADDED, places.FIRST_ADDED + 1]
    assert names(other) == [places.FIRST_ADDED + 2]
    assert store.read(lambda tx: places.get(tx, other.id, first.id)) is None
    assert store.read(lambda tx: places.get(tx, employer.id, first.id)) == first


def test_two_jobs_of_one_batch_share_a_new_place(store, employer, board):
    new = find(store, employer, "Petit-Lac, QC")
    jobs = board.apply(*(Create(board.job(locations=(new,))) for _ in range(3)))
    assert {job.locations[0].id for job in jobs} == {places.FIRST_ADDED}


def test_a_write_that_fails_adds_no_place(store, employer, board):
    new = find(store, employer, "Petit-Lac, QC")

    def fn(tx: Tx) -> None:
        jobs.apply(tx, [Create(board.job(locations=(new,)))], Actor(ActorKind.KEY, 1))
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        store.write(fn)
    assert find(store, employer, "Petit-Lac, QC").id == 0


def test_new_place_data_changes_names_and_removes_nothing(open_store, employer, store, monkeypatch):
    content = "6077243\tMontréal-Neuf\tQC\t9\n7\tNew Place\tON\t5\n".encode()
    monkeypatch.setattr(shipped_data, "place_file", lambda: content)
    later = open_store()
    assert find(later, employer, "Montreal Neuf").id == 6077243
    assert find(later, employer, "New Place, ON").id == 7
    assert find(later, employer, "Toronto").id == 6167865
    assert find(later, employer, "Montréal").id == 0
