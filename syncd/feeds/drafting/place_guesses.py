"""Guesses at the locations."""

from __future__ import annotations

from syncd.feeds.drafting.column_search import ColumnSearch
from syncd.feeds.drafting.columns import Column
from syncd.feeds.drafting.guess import Guess

_LONGEST = 200


def guess_locations(columns: ColumnSearch) -> Guess | None:
    """City and province, or one column with the place, or both as alternatives."""
    city = columns.named("city", lambda c: c.average < 80)
    province = columns.named("province", lambda c: c.share("province") > 0.3 or c.average < 40)
    place = columns.named("location", lambda c: c.average < _LONGEST and not columns.against(c, "location"))
    if not city and _lacks_province(place, province):
        city = place[:1]
    place = [c for c in place if not city or c is not city[0]]
    country = columns.named("country", lambda c: c.average < 40)[:1]
    sources: list[object] = []
    if _are_two(city, province):
        sources.append(_city_and_province(city[0], province[0], each=not country))
    # a city alone says less than "City, Province" beside it
    whole = [c for c in place if not sources and c.share("place") > 0.3]
    sources += [c.selector for c in whole[:1] or city[:1]]
    if not city or city[0].filled < columns.records:
        sources += [c.selector for c in place if c not in whole[:1]]
    used = [*city[:1], *province[:1], *place]
    if not sources:
        used = columns.alike(
            "location", lambda c: c.share("place") > 0.3, lambda c: (-c.share("place"), c.selector)
        )
        sources = [c.selector for c in used]
    if not sources:
        return None
    source = sources if len(sources) > 1 else sources[0]
    expression: dict[str, object] = {"from": source, "lookup": "location"}
    if country:
        expression["country"] = country[0].selector
    why = "by the names" if len(sources) > 1 else "by its name or values"
    return columns.guess("locations", used, expression, why)


def _are_two(city: list[Column], province: list[Column]) -> bool:
    """Whether there is a column for each, which a template can name."""
    if not city or not province or province[0] is city[0]:
        return False
    return "{" not in city[0].selector + province[0].selector


def _lacks_province(place: list[Column], province: list[Column]) -> bool:
    """Whether another column has to say in which province the places are."""
    if not place or not province or place[0] is province[0]:
        return False
    return place[0].share("place") <= 0.3 < province[0].share("province")


def _city_and_province(city: Column, province: Column, *, each: bool) -> dict[str, object]:
    """One text of both; with ``each``, one for each entry of a list that has both."""
    parent, mark, name = _parted(city.selector)
    other, _, below = _parted(province.selector)
    if each and mark and parent == other and city.values > city.filled:
        return {"each": parent, "template": f"{{{name}}}, {{{below}}}"}
    return {"template": f"{{{city.selector}}}, {{{province.selector}}}"}


def _parted(selector: str) -> tuple[str, str, str]:
    """What leads to the last step of a path, the mark between them, and that step."""
    if '"' in selector or "@" in selector:
        return "", "", selector
    return selector.rpartition("/" if "/" in selector else ".")
