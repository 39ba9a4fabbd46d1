"""The service's own settings: one table, one loader, frozen values. Feed files are not its business."""

from syncd.config.kinds import Address
from syncd.config.load import find_file, load_settings
from syncd.config.settings import Api, Drop, Log, Operator, Refresh, Settings, StoreSettings
from syncd.config.table import BY_KEY, SETTINGS, Setting

__all__ = [
    "BY_KEY",
    "SETTINGS",
    "Address",
    "Api",
    "Drop",
    "Log",
    "Operator",
    "Refresh",
    "Setting",
    "Settings",
    "StoreSettings",
    "find_file",
    "load_settings",
]
