"""A command and the function that does its work agree."""

import ast
import inspect
from importlib import import_module
from pathlib import Path

import typer
from typer.testing import CliRunner

import syncd.cli
from syncd.cli.options import Employer, command

DECLARED = [
    (node.args, *(ast.literal_eval(value) for value in call.args[1:3]), call.keywords)
    for node in ast.walk(ast.parse((Path(syncd.cli.__file__).parent / "app.py").read_text()))
    if isinstance(node, ast.FunctionDef)
    for call in node.decorator_list
    if isinstance(call, ast.Call) and ast.unparse(call.func) == "command"
]


def test_the_function_of_each_command_takes_what_the_command_has_and_nothing_else():
    faults = []
    for own, name, work, keywords in DECLARED:
        more = {each.arg: ast.literal_eval(each.value) for each in keywords}
        common = [
            {"config": "settings"}.get(name, name) for name in more.pop("common", ("config", "as_json"))
        ]
        module, _, function = work.rpartition(".")
        takes = inspect.signature(getattr(import_module(f"syncd.cli.{module}"), function)).parameters
        if {each.arg for each in (*own.args, *own.kwonlyargs)} | {*common} | {*more} != {*takes}:
            faults.append(name)
    assert len(DECLARED) > 20
    assert faults == []


def test_a_command_passes_its_options_by_name_and_what_is_fixed(monkeypatch):
    seen = {}
    monkeypatch.setattr("syncd.cli.daemon.try_notifications", lambda **values: seen.update(values))
    group = typer.Typer()

    @command(group, "try", "daemon.try_notifications", common=("as_json",), plan=True)
    def _declared(employer: Employer) -> None:
        """Tries."""

    done = CliRunner().invoke(group, ["--employer", "Acme", "--json"])
    assert (done.exit_code, seen) == (0, {"employer": "Acme", "as_json": True, "plan": True})
    assert "Print JSON." in CliRunner().invoke(group, ["--help"]).stdout
