"""Spreadsheets (.xlsx) for tests, as Excel writes them: shared texts, styles, gaps between cells."""

import io
import zipfile
from collections.abc import Mapping
from xml.sax.saxutils import escape

MAIN = 'xmlns="http://schemas.openxmlformats.org/spreadsheetml/2006/main"'
RELS = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
PACKAGE = "http://schemas.openxmlformats.org/package/2006/relationships"
#: Style 0 is general, 1 a built-in date, 2 a date and time, 3 money, 4 a time, 5 a format with quoted text.
STYLES = f"""<styleSheet {MAIN}><numFmts>
<numFmt numFmtId="164" formatCode="yyyy\\-mm\\-dd\\ hh:mm"/><numFmt numFmtId="165" formatCode="#,##0.00&quot; $/day&quot;"/>
<numFmt numFmtId="166" formatCode="[Red]0.0;[$-409]0"/></numFmts>
<cellStyleXfs><xf numFmtId="14"/></cellStyleXfs>
<cellXfs><xf numFmtId="0"/><xf numFmtId="14"/><xf numFmtId="164"/><xf numFmtId="165"/><xf numFmtId="20"/>
<xf numFmtId="166"/></cellXfs></styleSheet>"""


def book(
    sheets: dict[str, str], texts: list[str] | None = None, *, hidden: str = "", since_1904: bool = False
) -> bytes:
    """Return a file with these sheets: name → the content of ``sheetData``. ``texts``: the content of each ``si``."""
    names = [
        f'<sheet name="{escape(name)}" state="{"hidden" if name == hidden else "visible"}" sheetId="{n}" r:id="rId{n}"/>'
        for n, name in enumerate(sheets, 1)
    ]
    links = [
        f'<Relationship Id="rId{n}" Type="{RELS}/worksheet" Target="worksheets/sheet{n}.xml"/>'
        for n in range(1, len(sheets) + 1)
    ]
    links += [
        f'<Relationship Id="rId98" Type="{RELS}/styles" Target="styles.xml"/>',
        f'<Relationship Id="rId99" Type="{RELS}/sharedStrings" Target="/xl/sharedStrings.xml"/>',
    ]
    main = f'<Relationship Id="rId1" Type="{RELS}/officeDocument" Target="xl/workbook.xml"/>'
    parts = {
        "[Content_Types].xml": "<Types/>",
        "_rels/.rels": f'<Relationships xmlns="{PACKAGE}">{main}</Relationships>',
        "xl/workbook.xml": f'<workbook {MAIN} xmlns:r="{RELS}"><workbookPr date1904="{int(since_1904)}"/>'
        f"<sheets>{''.join(names)}</sheets></workbook>",
        "xl/_rels/workbook.xml.rels": f'<Relationships xmlns="{PACKAGE}">{"".join(links)}</Relationships>',
        "xl/styles.xml": STYLES,
    }
    for n, rows in enumerate(sheets.values(), 1):
        parts[f"xl/worksheets/sheet{n}.xml"] = (
            f'<worksheet {MAIN}><dimension ref="A1"/><sheetData>{rows}</sheetData></worksheet>'
        )
    # the texts come after the sheets that refer to them
    parts["xl/sharedStrings.xml"] = f"<sst {MAIN}>{''.join(f'<si>{text}</si>' for text in texts or [])}</sst>"
    return zipped(parts)


def zipped(parts: Mapping[str, str | bytes], method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """Return a zip archive of these members: name → contents."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", method) as archive:
        for name, contents in parts.items():
            archive.writestr(name, contents)
    return out.getvalue()


def row(*cells: object, number: int | None = None) -> str:
    made = "".join(
        "<c/>"
        if cell is None
        else f"<c><v>{cell}</v></c>"
        if isinstance(cell, int | float)
        else f'<c t="inlineStr"><is><t>{escape(str(cell))}</t></is></c>'
        for cell in cells
    )
    place = f' r="{number}"' if number else ""
    return f"<row{place}>{made}</row>"
