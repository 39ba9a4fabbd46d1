"""Files that people write: settings, files of feeds, secrets. Anything may lie in their place, and nothing of it may hang or
fill the memory."""

import errno
import os
import re
import stat
import tomllib
from pathlib import Path
from typing import Any

#: Bytes of the largest file of settings, and of the largest secret.
MAX_SETTINGS, MAX_SECRET = 4 << 20, 64 << 10


def read_settings(path: Path, most: int = MAX_SETTINGS) -> str:
    """Return the text of a regular file, without a byte order mark. Raise OSError: also unless it is a file of at
    most ``most`` bytes of UTF-8."""
    # of a FIFO without a writer, without waiting
    with open(path, "rb", opener=lambda name, flags: os.open(name, flags | os.O_NONBLOCK)) as file:
        mode = os.fstat(file.fileno()).st_mode
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, f"it is {kind_of(mode)}, not a file")
        content = file.read(most + 1)
    if len(content) > most:
        raise OSError(errno.EFBIG, f"it is larger than {most} bytes")
    try:
        return content.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise OSError(errno.EILSEQ, f"it is not UTF-8 (byte {error.start})") from error


def read_secret(path: Path) -> str:
    """Return the text of a file that has nothing but a secret. Raise as ``read_settings`` does."""
    return read_settings(path, MAX_SECRET).strip()


def parse_toml(text: str) -> dict[str, Any]:
    """Return the values of a TOML document. Raise TOMLDecodeError for every fault."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        raise
    except RecursionError:
        raise tomllib.TOMLDecodeError("Lists or tables are nested too deeply") from None
    except ValueError:
        raise tomllib.TOMLDecodeError("A number has too many digits") from None


#: Names of files that desktops and office programs make beside those that a person makes: locks of open documents, settings of
#: folders, shortcuts.
_LITTER = re.compile(
    r"~\$.*|\.~lock\..*#|desktop\.ini|(?:eh)?thumbs\.db|icon\r|.*\.(?:lnk|url)", re.IGNORECASE | re.DOTALL
)


def is_litter(name: str) -> bool:
    """Return whether ``name`` is that of a file that a desktop or an office program leaves behind."""
    return _LITTER.fullmatch(name) is not None


_KINDS = (
    (stat.S_ISREG, "a file"),
    (stat.S_ISLNK, "a symbolic link"),
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a FIFO"),
    (stat.S_ISSOCK, "a socket"),
)


def kind_of(mode: int) -> str:
    """Return the kind of a file with this ``st_mode``, in words: "a file", "a FIFO"."""
    return next((kind for test, kind in _KINDS if test(mode)), "a device")
