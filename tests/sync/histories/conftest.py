"""Nobody reads the log of thousands of runs."""

import logging

import pytest
import structlog


@pytest.fixture(autouse=True)
def _silent(_process):
    structlog.configure(wrapper_class=structlog.make_filtering_bound_logger(logging.CRITICAL))
