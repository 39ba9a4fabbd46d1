"""One grammar for all commands: ``syncd THING VERB``. A thing is known by its singular and its plural, the plural alone lists,
and a wrong word is answered with the right one."""

from collections.abc import Collection, Sequence
from typing import Any

from typer import Context
from typer.core import TyperGroup

#: Another name of a thing → the name in the help.
THINGS = {"run": "runs", "feeds": "feed", "keys": "key", "employers": "employer", "job": "jobs"}
#: The things that list without a verb.
_LISTED = ("runs", "feeds", "keys", "employers", "jobs")
#: Verbs of one meaning, of which each thing has one or none.
_ALIKE = (
    ("list", "ls"),
    ("show", "get", "info", "view", "describe", "display", "cat"),
    ("add", "new", "create", "make"),
    ("rename", "move", "mv", "edit"),
    ("approve", "accept", "confirm", "allow"),
    ("reject", "refuse", "deny", "discard", "cancel"),
    ("revert", "undo", "rollback"),
    ("again", "rerun", "retry", "repeat"),
    ("pause", "stop", "disable", "suspend", "hold"),
    ("resume", "start", "enable", "unpause", "continue"),
    ("check", "validate", "verify", "lint", "test"),
    ("revoke", "remove", "delete", "rm", "close"),
    ("rotate", "renew", "replace"),
)


class Grammar(TyperGroup):
    """The commands of the program, or those of one thing."""

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        return super().get_command(ctx, cmd_name) or super().get_command(ctx, THINGS.get(cmd_name, cmd_name))

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Read the command line of a thing. ``--config`` may stand before the verb; a plural without a verb lists."""
        if ctx.parent is None:
            return super().parse_args(ctx, args)
        at = 0
        while at < len(args) and args[at].partition("=")[0] == "--config":
            at += 1 if "=" in args[at] else 2
        before, rest = args[:at], args[at:]
        has_verb = bool(rest) and (not rest[0].startswith("-") or rest[0] == "--help")
        if not has_verb and ctx.info_name in _LISTED and not ctx.resilient_parsing:
            rest = ["list", *rest]
        return super().parse_args(ctx, [*rest[:1], *before, *rest[1:]])

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        named = not args or args[0].startswith("-") or self.get_command(ctx, args[0]) is not None
        if not named and not ctx.resilient_parsing:
            ctx.fail(self._wrong(ctx, args))
        return super().resolve_command(ctx, args)

    def _wrong(self, context: Context, words: Sequence[str]) -> str:
        """Return the message that a word is not a command, with the command that is meant."""
        meant = self._meant(words)
        program = context.command_path
        known = f"known: {', '.join(self.commands)}"
        hint = f"did you mean {' or '.join(f'`{program} {each}`' for each in meant)}?" if meant else known
        return f"No such command {words[0]!r}; {hint}"

    def _meant(self, words: Sequence[str]) -> list[str]:
        """Return the commands that ``words``, the first of which is unknown, may be meant for."""
        from syncd.domain import near_names  # where it is needed: commands start faster without it

        first, then = words[0], words[1] if len(words) > 1 else ""
        if own := _verbs_like(first, self.commands):
            return own
        things = {name: group for name, group in self.commands.items() if isinstance(group, Grammar)}
        named = THINGS.get(then, then)
        commands = [
            f"{name} {verb}"
            for name, group in things.items()
            if named not in things or name == named
            for verb in _verbs_like(first, group.commands)
        ]
        return commands or near_names(first, [*self.commands, *(name for name in THINGS if things)])


def _verbs_like(word: str, verbs: Collection[str]) -> list[str]:
    """Return the verbs that mean the same as ``word``, or are it."""
    return [
        verb for verb in verbs if verb == word or any(word in alike and verb in alike for alike in _ALIKE)
    ]
