"""Write a feed in the form of Indeed XML that is the same in every run: ``feedgen.py ROWS FILE [--changed]``.

A row depends on its number alone. It has about 3.3 KB, most of it HTML that the API allows; one row in 200 has HTML
that the API refuses. ``--changed``: 2 % of the rows have another title and text, 1 % are gone, 1 % are new.
"""

import sys
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parent.parent)

import random

_SYLLABLES = "ka ro mi ten sal vor il une dra pe lo gan tu sha ber qui nor ad el fi".split()
_VOCABULARY = random.Random(11)
_WORDS = ["".join(_VOCABULARY.choices(_SYLLABLES, k=_VOCABULARY.randint(1, 4))) for _ in range(700)]
_SENTENCES = [
    " ".join(_VOCABULARY.choices(_WORDS, k=_VOCABULARY.randint(9, 18))).capitalize() + "."
    for _ in range(3000)
]
_ROLES = "Welder,Line Cook,Nurse,Data Analyst,Truck Driver,Infirmière,Electrician,Clerk,Guard,Dentist".split(
    ","
)
_PLACES = [
    ("Calgary", "AB"),
    ("Montréal", "QC"),
    ("Halifax", "NS"),
    ("St. John's", "NL"),
    ("Toronto", "ON"),
    ("Regina", "SK"),
]
_TYPES = ["fulltime", "parttime", "contract", "temporary"]
_CATEGORIES = ["Healthcare", "Transportation", "Retail", "Finance", "Administration", "Engineering"]
_REFUSED = ["<h2>About us</h2>", '<p class="x">Apply</p>', "<script>track()</script>", "<span>Pay</span>"]
_ROW = (
    "<job>\n<title><![CDATA[{title}]]></title>\n<date><![CDATA[{date}]]></date>\n"
    "<expirationdate><![CDATA[{expires}]]></expirationdate>\n<referencenumber><![CDATA[{number}]]></referencenumber>\n"
    "<url><![CDATA[{url}]]></url>\n<company><![CDATA[{company}]]></company>\n<city><![CDATA[{city}]]></city>\n"
    "<state><![CDATA[{state}]]></state>\n<country><![CDATA[CA]]></country>\n<email><![CDATA[{email}]]></email>\n"
    "<description><![CDATA[{text}]]></description>\n<salary><![CDATA[{salary}]]></salary>\n"
    "<jobtype><![CDATA[{kind}]]></jobtype>\n<category><![CDATA[{category}]]></category>\n</job>\n"
)


def row(number: int, *, changed: bool = False, refused: bool = True) -> str:
    """Return the record with this number. ``refused``: it may be one that the API refuses."""
    pick = random.Random(number * 2_654_435_761)
    city, state = pick.choice(_PLACES)
    pay = pick.randint(17, 60)
    return _ROW.format(
        title=("Senior " if changed else "") + f"{pick.choice(_ROLES)} in {city}",
        date="2026-10-05",
        expires=f"2026-12-{pick.randint(1, 28):02d}",
        number=f"JOB-{number:08d}",
        url=f"https://careers.example.com/jobs/{number}?from=feed",
        company=f"Company {pick.randint(1, 400)} & Sons",
        city=city,
        state=state,
        email=f"jobs{number % 97}@example.com" if pick.random() < 0.3 else "",
        text=_text(pick, refused=refused) + ("<p>Updated today.</p>" if changed else ""),
        salary=f"${pay}.50 - ${pay + 5} per hour" if pick.random() < 0.6 else f"${pay},000 per year",
        kind=pick.choice(_TYPES),
        category=pick.choice(_CATEGORIES),
    )


def _text(pick: random.Random, *, refused: bool) -> str:
    picked = pick.choices(_SENTENCES, k=25)
    items = "".join(f"<li>{sentence}</li>" for sentence in picked[6:16])
    more = "".join(f"<li>{sentence}</li>" for sentence in picked[16:22])
    text = (
        f"<p><strong>{picked[0]}</strong></p>\n<p>{' '.join(picked[1:6])}</p>\n<ul>{items}</ul>\n<p><em>You:</em></p><ol>{more}</ol>\n"
        f'<p>{picked[22]}<br>{picked[23]} &amp; more: <a href="https://careers.example.com/a?b=1&amp;c=2" target="_blank">{picked[24]}</a></p>'
    )
    markup = pick.choice(_REFUSED) if pick.random() < 0.005 else ""
    return text + markup if refused else text


def write(path: Path, rows: int, *, changed: bool = False, refused: bool = True) -> Path:
    """Write the feed unless the file exists. Return its path. ``refused``: one row in 200 is one that the API refuses."""
    if path.exists():
        return path
    draft = path.with_suffix(".part")
    with draft.open("w", encoding="utf-8") as file:
        file.write('<?xml version="1.0" encoding="utf-8"?>\n<source>\n<publisher>Bench</publisher>\n')
        for number in range(rows):
            fate = number * 7919 % 100
            if not (changed and fate == 2):
                file.write(row(number, changed=changed and fate < 2, refused=refused))
        for number in range(rows, rows + rows // 100 if changed else rows):
            file.write(row(number, refused=refused))
        file.write("</source>\n")
    return draft.rename(path)


if __name__ == "__main__":
    write(Path(sys.argv[2]), int(sys.argv[1]), changed="--changed" in sys.argv)
