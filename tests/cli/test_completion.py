"""Shell completion: the files that the wheel installs do what `syncd --install-completion` sets up."""

import subprocess
import sys
from pathlib import Path

import pytest
from typer.completion import get_completion_script

import syncd.cli

FILES = Path(syncd.cli.__file__).parent / "completions"


@pytest.mark.parametrize(
    ("shell", "name"), [("bash", "syncd.bash"), ("zsh", "_syncd"), ("fish", "syncd.fish")]
)
def test_the_packaged_file_is_what_show_completion_prints(shell, name):
    script = get_completion_script(prog_name="syncd", complete_var="_SYNCD_COMPLETE", shell=shell)
    assert (FILES / name).read_text() == script + "\n"


@pytest.mark.parametrize(
    ("words", "offered"),
    [
        (["ru"], ["runs"]),
        (["runs", "a"], ["approve", "again"]),
        (["feed", ""], ["list", "new", "pause", "resume", "fetch", "remove", "show", "sheet", "check"]),
        (["plan", "--exit"], ["--exit-code"]),
        (["export", "--format", "j"], ["json", "jsonld"]),
    ],
)
def test_bash_completes_commands_options_and_choices(tmp_path, words, offered):
    program = tmp_path / "syncd"
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m syncd "$@"\n')
    program.chmod(0o755)
    line = " ".join(f"'{word}'" for word in words)
    script = (
        f"source {FILES / 'syncd.bash'}; COMP_WORDS=(syncd {line}); COMP_CWORD={len(words)};"
        f' _syncd_completion {program}; printf "%s\\n" "${{COMPREPLY[@]}}"'
    )
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert (done.stdout.split(), done.stderr) == (offered, "")
