"""The story is told once for all tests that look at what it left."""

from __future__ import annotations

import pytest

from tests.golden.story import Story, tell_story


@pytest.fixture(scope="session")
def story(tmp_path_factory: pytest.TempPathFactory) -> Story:
    return tell_story(tmp_path_factory.mktemp("story"))
