"""docs/operations.md says what the code does: every setting, every event with its fields, every exit."""

import ast
import json
import re
from collections import defaultdict
from pathlib import Path

import pytest

from syncd.config import SETTINGS
from syncd.domain import Run, RunKind, RunState
from syncd.logs import Event
from syncd.sync.run.ending import figures

ROOT = Path(__file__).parents[2]
GUIDE = (ROOT / "docs" / "operations.md").read_text()
LEVELS = ("debug", "info", "warning", "error", "exception")


def rows(heading):
    """The cells of the table below ``heading``."""
    section = GUIDE.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def written(setting):
    """A setting as its row should have it."""
    default = setting.default
    shown = {True: "true", False: "false"}.get(default) if isinstance(default, bool) else None
    number = f"{default:_}" if isinstance(default, int) and shown is None else None
    text = shown or number or (json.dumps(default) if default != [] else "[]")
    unit = setting.kind.unit
    return [
        f"`{setting.key}`" + (" ¹" if setting.per_feed else ""),
        f"`{text}`",
        unit,
        setting.doc.replace("|", "\\|"),
    ]


def test_every_setting_is_documented_with_default_unit_and_meaning():
    assert rows("Settings") == [written(setting) for setting in SETTINGS]


def logged():
    """Event → the names of the fields that the code gives it. A name that is not a member of Event is a fault."""
    found: defaultdict[Event, set[str]] = defaultdict(set)
    for path in (ROOT / "syncd").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_bytes())):
            if isinstance(node, ast.Call) and ast.unparse(node.func) == "context.log":  # made by ``frequent``
                found[Event.API_REQUEST] |= {key.arg for key in node.keywords if key.arg}
            if not (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Attribute)
                and node.func.attr in LEVELS
            ):
                continue
            if ast.unparse(node.func.value).rpartition(".")[2] != "log":
                continue
            name = node.args[0]
            where = f"{path.name}:{node.lineno}"
            assert ast.unparse(name).startswith("Event."), f"{where}: {ast.unparse(name)}"
            found[Event[ast.unparse(name).removeprefix("Event.")]] |= {
                key.arg for key in node.keywords if key.arg
            }
    return found


def test_every_event_that_the_code_logs_is_in_the_one_table_and_every_name_there_is_logged():
    sources = "\n".join(path.read_text() for path in (ROOT / "syncd").rglob("*.py"))
    assert logged()
    assert [event for event in Event if f"Event.{event.name}" not in sources] == []


def test_every_event_is_documented_with_all_of_its_fields():
    documented = {
        name.strip("`"): set(re.findall(r"`([a-z_0-9]+)`", fields)) for name, _, _, fields in rows("Events")
    }
    assert sorted(documented) == sorted(Event)
    for event, fields in logged().items():
        assert fields - {"exc_info"} <= documented[event], event


def test_every_figure_of_a_run_is_documented():
    run = Run(1, "acme", 1, "Acme", RunKind.FILE, RunState.SUCCEEDED, "jobs.csv", 1)
    shown = next(fields for name, _, _, fields in rows("Events") if name == "`feed.reconciled`")
    assert set(figures(run)) <= set(re.findall(r"`([a-z_0-9]+)`", shown))


@pytest.mark.parametrize("command", re.findall(r"`(syncd [a-z]+(?: [a-z]+)?)", GUIDE))
def test_every_command_of_the_guide_exists(command):
    from typer.main import get_command

    from syncd.cli.app import app

    here = get_command(app)
    for word in command.split()[1:]:
        commands = getattr(here, "commands", None)
        if commands is None:
            return
        assert word in commands, command
        here = commands[word]
