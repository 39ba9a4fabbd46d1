"""The story is told once for all tests that look at what it left."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.golden.golden import WRITE
from tests.golden.kept import keep, unpack
from tests.golden.story import Story, tell_story


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Told by the version at hand. To be asked, not to be changed."""
    story = tell_story(tmp_path_factory.mktemp("story"))
    if WRITE:
        keep(story)
    return story


@pytest.fixture(scope="session")
def story_of_010(story: Story, tmp_path_factory: pytest.TempPathFactory) -> Story:
    """Told by version 0.1.0, opened by the version at hand. To be asked, not to be changed."""
    return unpack(tmp_path_factory.mktemp("kept"))


@pytest.fixture(params=["today", "0.1.0"])
def told(request: pytest.FixtureRequest) -> Story:
    """Either of them: what can be asked has the same answers."""
    return request.getfixturevalue("story" if request.param == "today" else "story_of_010")


@pytest.fixture
def kept(story: Story, tmp_path: Path) -> Story:
    """What version 0.1.0 left, for one test alone to go on from."""
    return unpack(tmp_path)
