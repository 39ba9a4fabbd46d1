"""What columns of a survey tell of each other and of themselves, beside their names."""

from __future__ import annotations

from syncd.feeds.drafting.survey import Column

#: What an attribute "type" says of the text that it stands at, and never of a job.
_DATA_TYPES = frozenset(
    "array boolean cdata date datetime decimal email float html integer number string text url xhtml xml".split()
)


def is_data_type(column: Column) -> bool:
    """Whether an attribute ``type`` says of what kind its element is (``<content type="xhtml">``)."""
    if not column.selector.casefold().endswith("@type"):
        return False
    return all("/" in text or text.casefold() in _DATA_TYPES for text in column.samples)


def lacks_province(place: list[Column], province: list[Column]) -> bool:
    """Whether another column has to say where the places are."""
    if not place or not province or place[0] is province[0]:
        return False
    return place[0].share("place") <= 0.3 < province[0].share("province")


def city_and_province(city: Column, province: Column, *, each: bool) -> dict[str, object]:
    """One text of both, or one for each entry of a list that has both (``each``)."""
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
