"""The catalogues: their entries, order, and retired entries; and locations."""

from typing import Any
from urllib.parse import quote

import pytest

from syncd.domain import Catalogue

KINDS = ("positiontypes", "categories", "locations", "salaryperiods", "applicantroutingtypes")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("id", ["0", "999", "007", "01", "+1", "1.0", "x", "-1", "%D9%A1", "2147483648"])
async def test_an_id_of_nothing_names_no_entry(api, kind, id):
    answer = await api.get(f"/{kind}/{id}")
    assert (answer.status, answer.code) == (404, "not_found")


async def test_locations_match_part_of_the_name_shortest_first(api):
    found = (await api.get("/locations?q=TORONTO&pageSize=5")).json
    names = [place["name"] for place in found["data"]]
    assert names[0] == "Toronto"
    assert [len(name) for name in names] == sorted(len(name) for name in names)
    assert all("toronto" in name.lower() for name in names)
    accents = (await api.get("/locations?q=levis")).json["data"]
    assert "Lévis" in [place["name"] for place in accents]


@pytest.mark.parametrize(
    ("q", "found", "not_found"),
    [
        ("st", {"Stratford", "St. Paul", "Saint John", "Saint-Jérôme"}, {"Toronto"}),
        ("ste", {"Steinbach", "Ste. Anne", "Sainte-Adèle"}, {"Stratford"}),
        ("st jer", {"Saint-Jérôme"}, {"Stratford"}),
        ("SAINT-JÉR", {"Saint-Jérôme"}, {"Saint John"}),
        ("fort st", {"Fort St. John", "Fort Steele"}, {"Stratford"}),
        ("ratfo", {"Stratford"}, {"St. Paul"}),
        ("%", set(), {"Stratford"}),
        ("_", set(), {"Stratford"}),
        ("\x00", set(), {"Stratford"}),
        ("strat\x00", set(), {"Stratford"}),
    ],
)
async def test_part_of_a_name_is_found_however_saints_are_written(api, q, found, not_found):
    await api.create(locations=[{"description": "Fort Steele, BC"}, {"description": "Steinbach, MB"}])
    names: set[str] = set()
    path: str | None = f"/locations?q={quote(q)}&pageSize=100"
    while path is not None:
        page = (await api.get(path)).json
        names |= {place["name"] for place in page["data"]}
        path = page["paging"]["next"] and page["paging"]["next"].partition("/api/v1.1")[2]
    assert found <= names
    assert not not_found & names
    assert names or not found


async def test_locations_come_in_pages_with_links(api):
    first = await api.get("/locations?q=saint&pageSize=7")
    seen, page = [], first.json
    while True:
        seen += [place["id"] for place in page["data"]]
        if page["paging"]["next"] is None:
            break
        assert page["paging"]["next"].startswith(str(api.client.make_url("/api/v1.1/locations?q=saint&")))
        page = (await api.get(page["paging"]["next"].partition("/api/v1.1")[2])).json
    assert len(seen) == len(set(seen)) == first.json["paging"]["total"]
    assert first.json["paging"]["pages"] == -(-len(seen) // 7)
    assert 'rel="next"' in first.headers["Link"]


@pytest.mark.parametrize("query", ["page=0", "pageSize=x", "page=1&page=2", "q=a&q=b"])
async def test_a_bad_parameter_of_locations_is_a_400(api, query):
    assert (await api.get(f"/locations?{query}")).code == "invalid_parameter"
    assert (await api.get("/locations?status=nonsense")).status == 200  # not a parameter of this list


async def test_an_added_place_is_listed_for_its_employer_alone(api):
    place = (await api.create(locations=[{"description": "Zzyzx Corner, SK"}]))["locations"][0]
    assert place["id"] >= 1_000_000_000
    assert (await api.get("/locations?q=zzyzx")).json["data"] == [place]
    assert (await api.get(f"/locations/{place['id']}")).json == place
    other = api.as_employer("Other Ltd.")
    assert (await other.get("/locations?q=zzyzx")).json["data"] == []
    assert (await other.get(f"/locations/{place['id']}")).code == "not_found"


async def test_what_is_retired_is_not_offered_but_still_known(serve):
    """Serve the API with another configuration, as after a restart."""
    names: Any = {"position_types": {6: "Seasonal"}, "categories": {33: "Film"}}
    extended = Catalogue.default().extended(**names)
    retired = extended.extended(position_types={6: ""}, categories={33: ""})
    async with serve(catalogue=extended) as before:
        job = await before.create(positionType={"id": 6}, categories=[{"id": 33}], salary=None)
        assert job["positionType"] == {"id": 6, "name": "Seasonal"}
        assert {"id": 33, "name": "Film"} in (await before.get("/categories")).json["data"]
    async with serve(catalogue=retired) as after:
        assert (await after.get(f"/jobs/{job['id']}")).json == job
        for kind, id in (("positiontypes", 6), ("categories", 33)):
            assert id not in [entry["id"] for entry in (await after.get(f"/{kind}")).json["data"]]
            assert (await after.get(f"/{kind}/{id}")).json["id"] == id
        assert (await after.put(f"/jobs/{job['id']}", job)).json == job
        again = {name: value for name, value in job.items() if name not in ("id", "referenceId")}
        assert (await after.post(again)).status == 201


async def test_what_is_renamed_has_its_new_name_everywhere_at_once(serve):
    """Serve the API with another configuration, as after a restart."""
    names: Any = {"position_types": {1: "Full-time"}, "categories": {1: "Ledgers"}}
    async with serve() as before:
        job = await before.create(positionType={"id": 1}, categories=[{"id": 1}])
        read = await before.get(f"/jobs/{job['id']}")
    async with serve(catalogue=Catalogue.default().extended(**names)) as after:
        for kind, name in (("positiontypes", "Full-time"), ("categories", "Ledgers")):
            assert (await after.get(f"/{kind}/1")).json == {"id": 1, "name": name}
            assert {"id": 1, "name": name} in (await after.get(f"/{kind}")).json["data"]
        again = await after.get(f"/jobs/{job['id']}", headers={"If-None-Match": read.headers["ETag"]})
        assert again.status == 200
        renamed = {
            "positionType": {"id": 1, "name": "Full-time"},
            "categories": [{"id": 1, "name": "Ledgers"}],
        }
        assert again.json == {**job, **renamed}
