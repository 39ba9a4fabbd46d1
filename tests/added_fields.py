"""A copy of the package with two more fields, made by the steps of docs/architecture.md "How to add a field"."""

import os
import shutil
from pathlib import Path

PACKAGE = Path(__file__).parents[1] / "syncd"
MIGRATIONS = "store/migrations/versions"
#: The text of the new migration.
MIGRATION = '''"""The fields workplace and openings."""

from alembic import op

revision = "{number}"
down_revision = "{last}"


def upgrade() -> None:
    op.execute("ALTER TABLE job ADD COLUMN workplace VARCHAR")
    op.execute("ALTER TABLE job ADD COLUMN openings INTEGER")
'''
#: (file of the package, text in it, what is put before that text): a text field and a whole number.
ADDITIONS = (
    (
        "domain/job_fields.py",
        ")\n#: The members of a salary",
        """\
    JobField("workplace", "workplace", _K.TEXT, "On site, remote or both.", nullable=True, most=20),
    JobField("openings", "openings", _K.NUMBER, "How many people are wanted.", nullable=True, least=1, most=999),
""",
    ),
    ("domain/job_fields.py", ")\n#: The two addresses", '    "workplace",\n'),  # lists show one of the two
    (
        "domain/job.py",
        "\n\nclass JobInput(",
        "    workplace: str | None = None\n    openings: int | None = None\n",
    ),
    (
        "store/model/tables.py",
        "\n\nclass JobTotal(",
        "    workplace: str | None = Field(default=None, max_length=20)\n    openings: int | None = None\n",
    ),
)


def copy_with_fields(folder: Path) -> dict[str, str]:
    """Copy the package into ``folder``, add the fields, and return the environment of programs that import the copy."""
    copy = shutil.copytree(PACKAGE, folder / "syncd", ignore=shutil.ignore_patterns("__pycache__"))
    for name, after, new in ADDITIONS:
        text = (copy / name).read_text(encoding="utf-8")
        assert text.count(after) == 1, f"{name} does not have {after!r} once"
        (copy / name).write_text(text.replace(after, new + after), encoding="utf-8")
    last = max(path.name for path in (copy / MIGRATIONS).glob("[0-9]*.py"))[:4]
    number = f"{int(last) + 1:04}"
    (copy / MIGRATIONS / f"{number}_new_fields.py").write_text(
        MIGRATION.format(number=number, last=last), encoding="utf-8"
    )
    outside = {key: value for key, value in os.environ.items() if not key.startswith(("SYNCD_", "NOTIFY_"))}
    return {**outside, "PYTHONPATH": str(folder), "PYTHONSAFEPATH": "1"}
