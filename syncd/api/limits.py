"""The settings of ``[api]`` that concern the server under the application."""

from __future__ import annotations

from dataclasses import fields

from syncd.config import Api
from syncd.web import ServerLimits


def server_limits(settings: Api) -> ServerLimits:
    """Return what ``settings`` allow clients."""
    return ServerLimits(**{field.name: getattr(settings, field.name) for field in fields(ServerLimits)})
