"""Presets: mappings for the feeds that employers already have, one TOML file each, in the language of ``[fields]``."""

from syncd.feeds.mapping.presets.loading import load_preset, overridden, preset_names

__all__ = ["load_preset", "overridden", "preset_names"]
