"""Small grammars from what employers write to what the API takes. Pure functions; each says what it guessed
or dropped."""

#: Part of every feed's fingerprint: raise it when a transform gives another result for the same text.
VERSION = 4
