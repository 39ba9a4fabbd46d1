# What the gate (.ci/run) and the nightly run (.ci/nightly) share; both source it.

PYTHONS=(3.11 3.12 3.13 3.14) # each Python that the tests run on

export CI=true # Hypothesis tries the same examples in every run, and no failure is shortened
pytest=(pytest -q -n 4 --dist loadfile --no-loadscope-reorder)

say() { printf '\n== %s (%d min)\n' "$*" $((SECONDS / 60)); }

readme_command() { # readme_command NAME: print the line of README.md behind the marker <!-- command: NAME -->
  grep -A4 "<!-- command: $1 -->" README.md | grep -m1 '^python3'
}

install_packages() { # install_packages PROGRAM:PACKAGE...: install each Debian package whose program or file this machine lacks
  local wanted missing=()
  for wanted in "$@"; do
    compgen -G "${wanted%:*}" >/dev/null || command -v "${wanted%:*}" >/dev/null || missing+=("${wanted##*:}")
  done
  python3 -c 'import ensurepip' 2>/dev/null || missing+=(python3-venv)
  if [ ${#missing[@]} -gt 0 ]; then
    say "system packages"
    # RUNLEVEL=1: no program that is installed starts a service.
    apt-get update -q && RUNLEVEL=1 apt-get install -y -q --no-install-recommends "${missing[@]}"
  fi
}

lint_and_types() {
  say "lint"
  .venv/bin/ruff check .
  .venv/bin/ruff format --check .
  say "types"
  .venv/bin/mypy
}

keep_stores_in_memory() { # where the machine has room for them: a slow disk flushes thousands of times
  if [ "$(df --output=avail -BG /dev/shm 2>/dev/null | tail -1 | tr -dc 0-9)" -ge 8 ] 2>/dev/null; then
    TMPDIR=$(mktemp -d /dev/shm/syncd.XXXXXX)
    export TMPDIR
    chmod 755 "$TMPDIR" # the PostgreSQL server of the tests runs as another user
    trap 'rm -rf "$TMPDIR"' EXIT
  fi
}

interpreter() { # interpreter VERSION: print a Python of that version
  for candidate in "python$1" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    # A name on PATH may be a shim without its interpreter, so each candidate is started.
    "$candidate" -c '' 2>/dev/null && echo "$candidate" && return
  done
  return 1
}

other_pythons() { # print each version, but that of .venv, that this machine has
  local first
  first=$(.venv/bin/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')
  for version in "${PYTHONS[@]}"; do
    [ "$version" = "$first" ] || ! interpreter "$version" >/dev/null || echo "$version"
  done
}

tests_on() { # tests_on VERSION OPTION...: run the tests on that Python
  local venv status=0
  venv=$(mktemp -d)
  "$(interpreter "$1")" -m venv "$venv"
  "$venv/bin/pip" install -q -r requirements-dev.lock
  "$venv/bin/pip" install -q --no-build-isolation --no-deps -e .
  "$venv/bin/python" -m "${pytest[@]}" "${@:2}" || status=$?
  rm -rf "$venv"
  return $status
}
