"""The scenario runs once per test session; most tests read what it left."""

import pytest

from tests.golden.golden import WRITE, of_version_010
from tests.golden.kept import keep, unpack
from tests.golden.scenario import make_scenario


@pytest.fixture(scope="session")
def scenario(tmp_path_factory):
    """The scenario, run by the current version. Tests read it and do not change it."""
    scenario = make_scenario(tmp_path_factory.mktemp("scenario"))
    if WRITE:
        keep(scenario)
    return scenario


@pytest.fixture(scope="session")
def scenario_of_010(scenario, tmp_path_factory):
    """The scenario as version 0.1.0 ran it, opened by the current version. Tests read it and do not change it."""
    found = unpack(tmp_path_factory.mktemp("kept"))
    found.installation.run("employer", "list")  # migrates the store
    return found


@pytest.fixture(params=["today", "0.1.0"])
def installed(request):
    """Each of the two in turn: both must give the same answers, but for what golden files say."""
    if request.param == "today":
        yield request.getfixturevalue("scenario")
    else:
        with of_version_010():
            yield request.getfixturevalue("scenario_of_010")


@pytest.fixture
def kept(scenario, tmp_path):
    """A fresh copy of what version 0.1.0 left, which the test may change."""
    return unpack(tmp_path)
