"""Schedules at random: what partners, people, the clock and the system do, step by step. A seed gives the same steps for ever."""

import random
from typing import Any

from tests.simulation.contents import Short, ShortRow
from tests.simulation.engine import FEEDS
from tests.simulation.faults import CALLS
from tests.simulation.scene import REFERENCES
from tests.simulation.simulation import Step

_FORMATS = ["json"] * 6 + ["xml"] * 3 + ["csv"] * 2
_NAMES = {"json": ("a.json", "b.json"), "xml": ("c.xml",), "csv": ("d.csv",)}
_BROKEN = ("cut json", "cut xml", "page", "empty")
_DAYS = [None] * 8 + [0, 1, 3, 20, 100, -1, -3]
_STATUSES = [None] * 12 + ["active", "archived", "draft"]
_WEIGHTS = {
    "drop": 34,
    "wait": 24,
    "at": 26,
    "api": 14,
    "import": 5,
    "approve": 5,
    "reject": 2,
    "fault": 8,
    "die": 14,
    "stop": 3,
    "remove": 2,
    "finish": 3,
    "marker": 3,
    "deaf": 2,
    "jump": 2,
    "again": 8,
    "probe": 2,
    "turn": 0,
    "thread": 0,
    "revert": 6,
    "run again": 2,
    "pause": 2,
    "resume": 3,
}
#: What happens in the middle of other work.
_NESTED = "drop api die approve reject import remove finish stop turn revert resume".split()
#: The stories: see ``Generator._story``.
_STORIES = (
    *("resent", "changed", "corrected", "held", "part", "moved", "jump", "back", "fault", "cut", "cut off"),
    *("import", "revert", "paused", "many"),
)


class Generator:
    """Makes the steps of one seed."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(f"schedule {seed}")
        self._sent: dict[str, list[tuple[str, Short]]] = {name: [] for name in FEEDS}
        # Most schedules have one or two feeds, so that what happens to them meets.
        self._feeds = self._random.sample(sorted(FEEDS), self._random.choice([1, 2, 2, 3]))
        self._references = REFERENCES[: self._random.choice([2, 3, 4, 6])]

    def steps(self) -> list[Step]:
        found: list[Step] = []
        for _ in range(self._random.randint(4, 18)):
            found += self._story() if self._random.random() < 0.12 else [self._step(nested=False)]
        return found + (self._approval_beside_the_service() if self._random.random() < 0.2 else [])

    # -- steps that belong together ------------------------------------------------------------------------------

    def _story(self) -> list[Step]:
        """A file, and soon after it something that concerns its jobs; often something else happens in between."""
        pick = self._random
        feed = pick.choice(self._feeds)
        rows = [self._row() for _ in range(pick.choice([2, 3, 4]))]
        end = [("marker", feed, "a.json")] if feed == "marked" else []
        story: list[Step] = [("drop", feed, "a.json", ("json", rows, 1.0), "rename"), *end, ("wait", 5)]
        again: list[Step] = [*end, ("wait", 5)]
        match pick.choice(_STORIES):
            case "resent":  # the same bytes, after a client has changed a job
                story += [
                    self._edit(pick.choice(rows)[0]),
                    ("drop", feed, "a.json", ("json", rows, 1.0), "write"),
                    *again,
                ]
            case "changed":  # some of the same records
                more = [*rows[pick.choice([0, 1]) :], self._row()]
                story += [
                    self._edit(pick.choice(rows)[0]),
                    ("drop", feed, "a.json", ("json", more, 1.0), "write"),
                    *again,
                ]
            case "corrected":
                story += [("drop", feed, "b.json", ("corrected", rows[1:], 1.0), "write"), *again]
            case "held":
                decision = (pick.choice(["approve", "approve", "reject"]), feed)
                between = [self._step(nested=False)] if pick.random() < 0.5 else []
                story += [("drop", feed, "a.json", ("json", [], 1.0), "write"), *again, *between, decision]
            case "part":  # of the feed comes while nothing of a held file was applied
                part = pick.choice(["corrected", "corrected", "json"])
                story += [("drop", feed, "a.json", ("json", [], 1.0), "write"), *again]
                story += [("drop", feed, "b.json", (part, [self._row()], 1.0), "write"), *again]
            case "moved":  # what a person approves is another thing by then
                reference = pick.choice(rows)[0]
                story += [
                    ("edit", reference, {"status": "archived"}),
                    ("drop", feed, "a.json", ("json", [], 1.0), "write"),
                ]
                story += [*again, ("edit", reference, {"status": "active"}), ("approve", feed)]
            case "cut":  # while a newer file waits
                newer = ("drop", feed, "b.json", ("json", rows[1:], 1.0), "write")
                calls = self._calls() % 500
                story[-1:] = [
                    ("at", calls, newer),
                    ("at", calls + self._calls() % 200, ("die",)),
                    ("wait", 5),
                    *again,
                ]
            case "cut off":  # where jobs are missing
                plain: list[ShortRow] = [(name, "Cook", "One", None, None) for name in self._references]
                story[0] = ("drop", feed, "a.json", ("json", plain, 1.0), "rename")
                first_death = 40 + int(15 * pick.uniform(0, 11))
                story += [("at", first_death + 150 * n, ("die",)) for n in range(3)]
                story += [("drop", feed, "a.json", ("json", plain[1:], 1.0), "write"), *end, ("wait", 10)]
            case "import":  # of a newer file, before the service continues what it left
                died = ("at", self._calls() % 300, ("die",))
                story += [died, ("drop", feed, "a.json", ("json", rows[1:], 1.0), "write"), *end, ("wait", 3)]
                story += [("import", feed, ("json", [*rows[1:], self._row()], 1.0)), ("wait", 5)]
            case "revert":  # and the file comes again; sometimes the revert is cut off or reverted
                more = [*rows[1:], self._row()]
                if feed == "keeping":  # what was put back is not the edit of a person
                    more = [(row[0], "Changed", *row[2:]) for row in rows]
                cut = [("at", self._calls() % 200, ("die",))] if pick.random() < 0.4 else []
                story += [("drop", feed, "a.json", ("json", more, 1.0), "write"), *again, *cut]
                story += [("revert", feed, 0), ("wait", 5)]
                if pick.random() < 0.5:
                    story += [("revert", feed, 0), ("wait", 5)]
                story += [("drop", feed, "a.json", ("json", more, 1.0), "write"), *again]
            case "paused":
                story += [("pause", feed), ("drop", feed, "a.json", ("json", rows[1:], 1.0), "write"), *again]
                story += [("import", feed, ("json", rows, 1.0)), ("resume", feed), ("wait", 65)]
            case "many":  # feeds, so that several threads have work
                story[-1:] = [self._drop(other) for other in self._feeds]
                story += [("at", self._calls() % 300, ("thread",)) for _ in range(3)]
                story += again
            case "fault":  # while clients write
                story += [
                    ("fault", pick.choice(["EIO", "ENOSPC", "EDQUOT"]), 5, pick.choice([0.1, 0.3]), None)
                ]
                story += [self._edit(reference) for reference in self._references] + [("wait", 10)]
            case "back":  # goes the clock, to a day on which the date of a row has not passed
                dated = [
                    [(reference, "Cook", "One", days, None) for reference, *_ in rows] for days in (-1, 19)
                ]
                first, same = (("drop", feed, "a.json", ("json", rows, 1.0), "write") for rows in dated)
                story = [("jump", 20 * 86400), first, *again, ("jump", -20 * 86400), same, *again]
            case "jump":  # and perhaps back
                days = pick.choice([20, 90])
                story += [("jump", days * 86400), ("wait", pick.choice([65, 300]))]
                story += [("jump", -days * 86400)] if pick.random() < 0.5 else []
        at = pick.randrange(1, len(story))
        return [*story[:at], *([self._step(nested=False)] if pick.random() < 0.5 else []), *story[at:]]

    def _approval_beside_the_service(self) -> list[Step]:
        """A person approves what is held while a newer file comes, which the service runs at that moment."""
        pick = self._random
        feed = pick.choice(self._feeds)
        rows: list[ShortRow] = [(reference, "Cook", "One", None, None) for reference in self._references]
        end = [("marker", feed, "a.json")] if feed == "marked" else []

        def drop(rows: list[ShortRow]) -> list[Step]:
            return [("drop", feed, "a.json", ("json", rows, 1.0), "rename"), *end]

        meanwhile = ("at", pick.randrange(1, 120), ("turn", 3))
        waits: list[Step] = [("wait", 5)]
        return [
            *drop(rows),
            *waits,
            *drop([]),
            *waits,
            *drop(rows[:-1]),
            meanwhile,
            ("approve", feed),
            *waits,
        ]

    def _step(self, *, nested: bool) -> Step:
        pick = self._random
        kinds = _WEIGHTS
        if nested:
            kinds = {name: weight for name, weight in kinds.items() if name in _NESTED}
            kinds |= {"die": 3 * kinds["die"], "turn": 10, "thread": 40}
        kind = pick.choices(list(kinds), list(kinds.values()))[0]
        feed = pick.choice(self._feeds)
        match kind:
            case "drop":
                return self._drop(feed)
            case "again":
                return self._again(feed)
            case "import":
                return ("import", feed, self._content())
            case "api":
                return self._request()
            case "wait":
                return ("wait", pick.choice([1, 3, 3, 5, 5, 10, 35, 65, 130, 86400, 3 * 86400, 40 * 86400]))
            case "at":
                return ("at", self._calls(), self._step(nested=True))
            case "die":
                return ("die",) if nested else ("at", self._calls(), ("die",))
            case "fault":
                name = pick.choice(list(CALLS))
                where = pick.choice([None, None, *self._feeds])
                return (
                    "fault",
                    name,
                    pick.choice([1, 5, 30, 120]),
                    pick.choice([0.02, 0.1, 0.5, 1.0]),
                    where,
                )
            case "finish" | "remove":
                return (kind, feed, self._name())
            case "marker":
                return (kind, "marked", self._name()) if "marked" in self._feeds else ("wait", 3)
            case "deaf":
                return (kind, pick.choice([10, 100]))
            case "jump":
                return (
                    kind,
                    pick.choice([-3000, -60, 60, 3000, 7200, -7200, 20 * 86400, 90 * 86400, -20 * 86400]),
                )
            case "probe":
                row = (pick.choice(self._references), "Probe", "One", None, None)
                return (kind, feed, pick.choice(self._feeds), row)
            case "revert" | "run again":
                return (kind, feed, pick.choice([0, 0, 0, 1, 2, 4]))
            case "stop" | "turn" | "thread":
                return (kind,)
            case _:
                return (kind, feed)

    def _calls(self) -> int:
        """Return after how many calls something happens: soon, or somewhere in the next run."""
        return int(2 ** self._random.uniform(0, 11))

    # -- files ----------------------------------------------------------------------------------------------------

    def _drop(self, feed: str) -> Step:
        content = self._content()
        names = _NAMES.get(content[0].split()[-1], ("a.json", "b.json"))
        name = self._random.choice(names)
        self._sent[feed].append((name, content))
        return ("drop", feed, name, content, self._random.choice(["write", "write", "rename", "slow"]))

    def _again(self, feed: str) -> Step:
        """The same file once more, or with one row fewer."""
        if not self._sent[feed]:
            return self._drop(feed)
        name, (kind, rows, part) = self._random.choice(self._sent[feed][-3:])
        if self._random.random() < 0.4:
            rows = rows[1:]
        return ("drop", feed, name, (kind, rows, part), "write")

    def _content(self) -> Short:
        pick = self._random
        kind = pick.choice(pick.choices([_BROKEN, ["corrected"], _FORMATS], [20, 4, 76])[0])
        count = pick.choice([0, 1, 2, 2, 3, 3, 4, 6])
        rows = [self._row() for _ in range(count)]
        return kind, rows, round(pick.uniform(0.05, 0.99), 2)

    def _name(self) -> str:
        return self._random.choice(["a.json", "b.json", "c.xml", "d.csv"])

    def _row(self) -> ShortRow:
        pick = self._random
        title = pick.choice(["Cook", "Chef", "Baker", "Waiter", ""])
        return (
            pick.choice(self._references),
            title,
            pick.choice(["One", "Two"]),
            pick.choice(_DAYS),
            pick.choice(_STATUSES),
        )

    # -- requests -------------------------------------------------------------------------------------------------

    def _request(self) -> Step:
        pick = self._random
        reference = pick.choice(self._references)
        kind = pick.choice(["put", "edit", "edit", "edit", "delete"])
        if kind == "put":
            return ("put", (reference, *self._row()[1:]))
        if kind == "delete":
            return ("delete", reference)
        return self._edit(reference)

    def _edit(self, reference: str) -> Step:
        pick = self._random
        changes: dict[str, Any] = pick.choice(
            [
                {"title": pick.choice(["Edited", "Edited again"])},
                {"status": pick.choice(["active", "archived", "draft"])},
                {"closeDate": pick.choice([-1, 0, 2, 50])},
                {"title": "Edited", "status": "active"},
            ]
        )
        return ("edit", reference, changes)
