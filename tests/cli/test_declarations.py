"""A command and the function that does its work agree."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import typer
from typer.testing import CliRunner

import syncd.cli
from syncd.cli.options import OF_EMPLOYER, command

#: Each ``command(…)(…)``: the names of its parameters, its name, its function, and the keywords of the first call.
DECLARED = [
    ({each.arg for each in call.keywords}, *map(ast.literal_eval, call.func.args[1:3]), call.func.keywords)
    for call in ast.walk(ast.parse((Path(syncd.cli.__file__).parent / "app.py").read_text()))
    if isinstance(call, ast.Call) and isinstance(call.func, ast.Call)
]


def test_the_function_of_each_command_takes_what_the_command_has_and_nothing_else():
    faults = []
    for own, name, work, keywords in DECLARED:
        more = {each.arg: ast.literal_eval(each.value) for each in keywords}
        common = {
            "settings" if each == "config" else each for each in more.pop("common", ("config", "as_json"))
        }
        module, _, function = work.rpartition(".")
        takes = inspect.signature(getattr(import_module(f"syncd.cli.{module}"), function)).parameters
        if own | common | {*more} != {*takes}:
            faults.append(name)
    assert len(DECLARED) > 20
    assert faults == []


def test_a_command_passes_its_options_by_name_and_what_is_fixed(monkeypatch):
    seen = {}
    monkeypatch.setattr("syncd.cli.daemon.try_notifications", lambda **values: seen.update(values))
    group = typer.Typer()
    add = command(group, "try", "daemon.try_notifications", common=("as_json",), plan=True)
    add("Tries.", employer=OF_EMPLOYER)
    done = CliRunner().invoke(group, ["--employer", "Acme", "--json"])
    assert (done.exit_code, seen) == (0, {"employer": "Acme", "as_json": True, "plan": True})
    assert "Print JSON." in CliRunner().invoke(group, ["--help"]).stdout
