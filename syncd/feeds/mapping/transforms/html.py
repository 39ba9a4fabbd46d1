"""Descriptions as employers send them, to the HTML of docs/specification.md 2.6; and a value between two marks in a longer text,
as in "Closing date: 2027-01-31" (docs/feeds.md "Sources").

``clean`` never returns anything that ``syncd.domain.html_faults`` refuses: its result is checked again, and if that
fails, the bare text is kept. Text is never lost, except for scripts, styles, comments and hidden content."""

import re
from collections.abc import Callable
from html import escape
from itertools import groupby

import nh3

from syncd.domain import html_faults, unescape
from syncd.feeds.text import has_controls, meant, without_controls

_ALLOWED = frozenset("strong b em i br p div ul ol li a".split())
_HEADINGS = "h1 h2 h3 h4 h5 h6 dt th caption legend summary figcaption".split()
_CONTAINERS = (
    "section article header footer main aside nav blockquote table center form fieldset figure address details dl"
).split()
#: A block that the API does not know → the texts in place of its start tag and its end tag.
_BLOCKS = {
    **dict.fromkeys(_HEADINGS, ("<p><strong>", "</strong></p>")),
    # a parser would take all that stands in the last two for text, tags too
    **dict.fromkeys(("tr", "dd", "pre", "xmp", "plaintext"), ("<p>", "</p>")),
    **dict.fromkeys(_CONTAINERS, ("<div>", "</div>")),
    **dict.fromkeys(("menu", "dir"), ("<ul>", "</ul>")),
    "td": ("", " | "),
    "hr": ("<br>", "<br>"),
}
_OTHERS = tuple(
    "u s span font small big sub sup mark code img tbody thead tfoot col colgroup html head body title meta link style"
    " script iframe object embed video audio svg input button label strike del ins tt cite abbr q wbr time noscript template"
    " textarea select option picture source noembed noframes".split()
)
_KNOWN = (*_ALLOWED, *_BLOCKS, *_OTHERS)
_REPLACED = frozenset(_KNOWN) - _ALLOWED
_HIDDEN = frozenset(
    "script style title iframe object noscript template svg math xml textarea noembed noframes".split()
)
_INLINE = frozenset("strong b em i a u s span font small big sub sup mark code".split())
#: Elements without an end tag, or whose end tag is mostly left out: they do not nest by themselves.
_SELF_CLOSING = frozenset("br hr img p li tr td th dt dd option meta link input wbr".split())
_MAX_DEPTH = 100
_SHOWN = frozenset(_KNOWN) - _HIDDEN
_VOID = frozenset(("br", "hr"))

_NAMES = "|".join(sorted(_KNOWN, key=len, reverse=True))
_TAG = re.compile(rf"</?(?:{_NAMES}|[a-z]+:[a-z]+)(?=[\s/>])|<!--|<[!?][a-z\[]", re.IGNORECASE)
#: A whole escaped tag of an element that shows its text.
_ESCAPED = re.compile(
    rf"&(?:amp;)*(?:lt|#0*60|#x0*3c);(/?)({'|'.join(sorted(_SHOWN, key=len, reverse=True))})"
    r"(?:[\s/](?:[^<>&]|&(?!(?:amp;)*(?:[lg]t|#0*6[02]|#x0*3[ce]);))*+)?&(?:amp;)*(?:gt|#0*62|#x0*3e);",
    re.IGNORECASE,
)
#: Text of which nothing is seen but points and dashes: tags, and white space in all of its forms.
_BLANK = re.compile(
    r"(?:\s|</?[a-z][^<>]*+>|&(?:amp;)*(?:nbsp|[a-z0-9]{2,6}sp|#(?:0*(?:32|160|173|820[3-7])|x0*(?:20|a0|ad|200[b-f]))"
    r"|zwn?j|shy|lrm|rlm|tab|newline);|[\u00ad\u200b-\u200f\u2060\ufeff]|[-.,:;?!_*/|\u2013\u2014\u2022\u2026])*+\Z",
    re.IGNORECASE,
)
#: The most characters of HTML that may have a word for nothing in it.
_SHORT = 60
_ESCAPED_TAG = re.compile(rf"&(?:amp;){{0,2}}(?:lt|#0*60|#x0*3c);/?(?:{_NAMES})(?=[\s/]|&|>)", re.IGNORECASE)
#: "<jobs@acme.ca>" and "<https://…>" are text that a parser would take for tags.
_ADDRESS = re.compile(r"<(?=[^\s<>\"'=@]{1,150}(?:@|://)[^\s<>\"'=]{1,150}>)")
_REST = r"(?:[^<>\"']|\"[^\"]*+\"|'[^']*+')*+>"
_WHOLE_TAG = re.compile(rf"</?({_NAMES})(?:[\s/]{_REST}|>)", re.IGNORECASE)
_BLOCK = re.compile(rf"<(/?)({'|'.join(_BLOCKS)})(?![\w:-]){_REST}", re.IGNORECASE)
#: A reference to a character, with its semicolon: "AT&T" and "R&copy" have none.
_REFERENCE = re.compile(r"&(?:#\d{1,7}|#[xX][0-9A-Fa-f]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
#: The mark between two cells of a table, which is white space.
CELL = "\x1f"
#: White space in ``lines``: within a line (the end of a cell, too), and such as ends the text behind a mark.
_WITHIN_LINE, _LINE_END = f"[ {CELL}]", f"[\n{CELL}]"
_SPACE = re.compile(r"\s+")
_ANY_TAG = re.compile(r"<(/?)([a-zA-Z][\w:-]*)?[^<>]*>")
_NAME = re.compile(r"</?([a-zA-Z][\w:-]*)")

_CDATA = re.compile(r"(?:<|&lt;)!\[CDATA\[|\]\](?:>|&gt;)")
_TOKEN = re.compile(r"<(/?)(ul|ol|li)>")
_DEAD_LINK = re.compile(r"<a(?: target=\"[^\"]*\")?>(.*?)</a>", re.DOTALL)
_CELL_END = re.compile(r"(?<![\s|])\s*+(?:\|\s*+)++(?=</(?:p|strong|div)>)")
_EMPTY = re.compile(r"<(p|div|strong|b|em|i|li|ul|ol|a)(?: [^<>]*)?>(?:\s|<br>)*+</\1>")


def _link(tag: str, name: str, value: str) -> str | None:
    """Return an attribute of a link as it may stay; None drops it."""
    if tag != "a" or name not in ("href", "target"):
        return None
    bare = value.strip()
    if not bare or (name == "target" and not re.fullmatch(r"_?[\w-]{1,40}", bare)):
        return None
    return bare.translate({ord("<"): "%3C", ord(">"): "%3E", ord('"'): "%22", ord(" "): "%20"})


_CLEANER = nh3.Cleaner(
    tags=set(_ALLOWED),
    clean_content_tags=set(_HIDDEN),
    attributes={"a": {"href", "target"}},
    attribute_filter=_link,
    strip_comments=True,
    link_rel=None,
    url_schemes={"http", "https", "mailto", "tel"},
    url_relative="deny",
)


def clean(text: str) -> tuple[str, tuple[str, ...]]:
    """Return ``text`` as HTML that the API takes, and the changes in words.

    HTML that passes, and one line of plain text, are returned byte for byte. Plain text of several lines becomes
    paragraphs. HTML that was escaped as a whole is unescaped, at most three times. Where nothing is visible the result is ""."""
    if has_controls(text):
        result, done = clean(without_controls(text))
        return result, ("control characters removed", *done)
    bare = _CDATA.sub("", text) if "![CDATA[" in text or text.endswith(("]]>", "]]&gt;")) else text
    result, done = _clean(bare)
    if result.endswith("]]&gt;"):  # the text behind the mark is gone
        result, _ = clean(result)
    return result, done if bare == text else ("CDATA marks removed", *done)


def _clean(text: str) -> tuple[str, tuple[str, ...]]:
    if _TAG.search(text):
        decoded = _decoded(text) if "&" in text else text
        steps = [] if decoded is text else ["escaped tags decoded"]
        before, item, _ = decoded.partition("<li")
        if item and "<ul" not in before and "<ol" not in before:  # the list itself is not there
            steps.append("list put around its items")
        elif not html_faults(decoded, 1):
            return ("" if _is_blank(decoded) else decoded), tuple(steps)
        result, done = _cleaned(decoded, steps)
    else:
        result, done = _without_tags(text)
    return ("" if _is_blank(result) else result), done


def _is_blank(text: str) -> bool:
    """Return whether nothing is seen of some HTML, or a word for nothing alone: ``<p>nan</p>``."""
    return _BLANK.match(text) is not None or (len(text) < _SHORT and meant(_text_of(text)) is None)


def without_tags(text: str) -> str:
    """Return a line without the tags of HTML in it and the marks of CDATA around it; other text in angle brackets stays."""
    text = text.strip().removeprefix("<![CDATA[").removesuffix("]]>")
    return " ".join(_WHOLE_TAG.sub(lambda tag: "" if tag[1].lower() in _INLINE else " ", text).split())


def _decoded(text: str) -> str:
    """Return HTML with the escaped tags in it that are pairs or void decoded. A lone one is text: "the <b> tag"."""
    chosen: set[int] = set()
    opened: dict[str, list[int]] = {}
    for tag in _ESCAPED.finditer(text):
        name = tag[2].lower()
        if name in _VOID:
            chosen.add(tag.start())
        elif not tag[1]:
            opened.setdefault(name, []).append(tag.start())
        elif opened.get(name):
            chosen |= {opened[name].pop(), tag.start()}
    if not chosen:
        return text
    return _ESCAPED.sub(
        lambda tag: unescape(unescape(unescape(tag[0]))) if tag.start() in chosen else tag[0], text
    )


def _without_tags(text: str) -> tuple[str, tuple[str, ...]]:
    done: list[str] = []
    for _ in range(3):
        if not _ESCAPED_TAG.search(text):
            break
        text = unescape(text)
        done.append("escaped HTML unescaped")
        if _TAG.search(text):
            done = done[:1]
            return (text, tuple(done)) if not html_faults(text, 1) else _cleaned(text, done)
    if "\n" not in text.strip() and "\r" not in text.strip() and not html_faults(text, 1):
        return text, tuple(done)
    return paragraphs(unescape(text)), (*done, "plain text made into paragraphs")


def _cleaned(text: str, done: list[str]) -> tuple[str, tuple[str, ...]]:
    tags = {name.lower() for name in _NAME.findall(text)}
    names = sorted(name for name in tags if name in _REPLACED or ":" in name)
    if names:
        done.append(f"replaced or removed: {', '.join(names[:8])}")
    elif html_faults(text, 1):
        done.append("attributes or faults removed")
    if _too_deep(text):
        return bare(text), (*done, "reduced to plain text")
    source = without_controls(_ADDRESS.sub("&lt;", text))
    known = _BLOCK.sub(lambda tag: _BLOCKS[tag[2].lower()][bool(tag[1])], source)
    result = _CLEANER.clean(known).replace("&nbsp;", "\u00a0")
    result = _with_lists(_DEAD_LINK.sub(r"\1", result))
    result = _CELL_END.sub("", result)
    for _ in range(4):  # an element may be empty once those in it are gone
        before, result = result, _EMPTY.sub("", result)
        if before == result:
            break
    result = result.strip()
    if len(result) <= 4 * len(text) + 1000 and not html_faults(result, 1):
        return result, tuple(done)
    return bare(text), (*done, "reduced to plain text")


def _too_deep(text: str) -> bool:
    """Return whether elements are nested deeper than any text needs: the time of parsing grows with the square of the depth."""
    depth = 0
    for tag in _ANY_TAG.finditer(text) if text.count("<") > _MAX_DEPTH else ():
        if tag[2] and tag[2].lower() not in _SELF_CLOSING:
            depth = max(0, depth - 1) if tag[1] else depth + 1
            if depth > _MAX_DEPTH:
                return True
    return False


def bare(text: str) -> str:
    """Return nothing but the text of some HTML, in paragraphs, without elements that browsers hide."""
    return paragraphs(unescape(_text_of(text)))


def lines(text: str) -> str:
    """Return the text of HTML or of escaped HTML, with line ends between its lines and ``CELL`` between the cells of a table.
    Plain text keeps its lines. Of white space in a row one character is left, or two line ends."""
    for _ in range(3):
        if not _TAG.search(text) and _ESCAPED_TAG.search(text):
            text = unescape(text)
    shown = _text_of(text, CELL) if _TAG.search(text) else text
    return _SPACE.sub(_shortened, unescaped(shown).replace("\r\n", "\n").replace("\r", "\n"))


def _shortened(space: re.Match[str]) -> str:
    line_ends = space[0].count("\n")
    return "\n" * min(line_ends, 2) or (CELL if CELL in space[0] else " ")


def unescaped(text: str) -> str:
    """Return ``text`` with its references to characters replaced, where they end with a semicolon."""
    return _REFERENCE.sub(lambda reference: unescape(reference[0]), text)


def _text_of(text: str, cell: str = "\n") -> str:
    out: list[str] = []
    hidden, last = "", 0
    for tag in _ANY_TAG.finditer(text):
        name = (tag[2] or "").lower()
        if not hidden:
            between = text[last : tag.start()]
            out.append(" " if between.isspace() else between)
            out.append("" if name in _INLINE else cell if name in ("td", "th") else "\n")
            hidden = name if name in _HIDDEN and not tag[1] else ""
        elif tag[1] and name == hidden:
            hidden = ""
        last = tag.end()
    out.append("" if hidden else text[last:])
    return "".join(out)


def paragraphs(text: str) -> str:
    """Return plain text (no markup, no entities) as HTML: empty lines separate paragraphs, line ends are ``<br>``."""
    unified = without_controls(text.replace("\r\n", "\n").replace("\r", "\n")).strip()
    lines = (escape(line.strip(), quote=False) for line in unified.split("\n"))
    return "".join(f"<p>{'<br>'.join(group)}</p>" for filled, group in groupby(lines, key=bool) if filled)


def _with_lists(text: str) -> str:
    """Put runs of ``li`` outside of any list into one (applicant tracking systems send them bare)."""
    if "<li>" not in text:
        return text
    out: list[str] = []
    depth = items = last = 0
    opened = False
    for token in _TOKEN.finditer(text):
        between = text[last : token.start()]
        if opened and items == 0 and (between.strip() or token[2] != "li"):
            out.append("</ul>")
            opened = False
        out.append(between)
        if token[2] != "li":
            depth += -1 if token[1] else 1
        elif depth == 0 or opened:
            if not token[1] and not opened:
                out.append("<ul>")
                opened = True
            items += (-1 if token[1] else 1) if opened and depth == 0 else 0
        out.append(token[0])
        last = token.end()
    out.append("</ul>" if opened else "")
    return "".join(out) + text[last:]


def text_behind(after: str, before: str | None) -> Callable[[str], object | None]:
    """Return a function from a text to its part behind the mark ``after``, up to the mark ``before`` or the end of the line.
    Tags of HTML are line ends. A text without the mark, or with nothing behind it, gives None."""
    mark = after.strip(" \t")
    colon = ":" if mark.endswith(":") else ":?"
    word = r"(?<!\w)" if mark[0].isalnum() else ""
    words = _pattern(mark.removesuffix(":").rstrip(" \t"))
    begin = re.compile(f"{word}{words}{_WITHIN_LINE}?{colon}{_WITHIN_LINE}?", re.IGNORECASE)
    end = re.compile(_LINE_END if before is None else _pattern(before), re.IGNORECASE)
    line_end = re.compile(_LINE_END)

    def behind(markup: str) -> object | None:
        text, more = lines(markup), True
        for match in begin.finditer(text):
            stop = end.search(text, match.end()) if more else None
            more = stop is not None  # if there is none, none follows a later mark
            stop = stop or line_end.search(text, match.end())
            part = meant(text[match.end() : stop.start() if stop else None])
            if part is not None:
                return part
        return None

    return behind


def _pattern(mark: str) -> str:
    """Return the pattern of a mark, in which blanks and line ends may be of any kind and number."""
    parts = re.split(r"(\s+)", mark)
    return "".join(
        f"{_LINE_END}+" if "\n" in part else _WITHIN_LINE if part.isspace() else re.escape(part)
        for part in parts
    )
