"""The exit codes of the program."""

DONE, FAILED, USAGE, HELD = 0, 1, 2, 3
#: Under ``plan --exit-code``: the run would change something.
CHANGES = 2
INTERRUPTED = 130
