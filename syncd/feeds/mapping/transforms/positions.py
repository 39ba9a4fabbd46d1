"""Kinds of work as feeds write them, in several words: "Permanent, temps partiel", "Term (Full-time)".

Only texts that consist of known words are read; anything else stays unknown. A limit in time wins over the number of
hours: a full-time contract is a contract, a part-time summer job is temporary. Of "full time or part time" the lesser
is certain."""

from __future__ import annotations

import re
from functools import lru_cache

from syncd.domain import name_key

FULL, PART, CONTRACT, TEMP, VOLUNTEER = 1, 2, 3, 4, 5
_LONGEST = 100
_WORDS: dict[int, str] = {
    FULL: r"full ?time|full|ft|f t|temps plein|plein temps|temps complet|permanente?s?|perm|regular|regulier|reguliere"
    r"|indefinite|indeterminee?|duree indeterminee|cdi|employee|direct (?:hire|placement)|salarie",
    PART: r"part ?time|part|pt|p t|temps partiel|mi temps|partiel|per diem|job share",
    CONTRACT: r"contracts?|contractor|contractual|contractuel(?:le)?|contrat|fixed ?term|duree determinee|determinee?|cdd"
    r"|term|freelancer?|self employed|independent|autonome|travailleur autonome|pigiste|(?:a la )?pige"
    r"|(?:per |par )?proje(?:c)?t",
    TEMP: r"temporary|temporaire|temp|tmp|seasonal|saisonnier|saisonniere|summer|ete|students?|etudiante?|interns?"
    r"|internships?|stage|stagiaire|co ?op|apprentice|apprenticeship|apprentie?|alternance|trainee|casual|occasional"
    r"|occasionnel(?:le)?|relief|replacement|remplacement|surnumeraire|on call|sur appel|rappel"
    r"|(?:maternity|parental) leave(?: cover(?:age)?)?|conge (?:de maternite|parental)",
    VOLUNTEER: r"volunteer|volunteering|volontaire|benevole|benevolat|unpaid",
}
_FILLERS = (
    r"and|or|et|ou|a|an|the|de|d|du|un|une|to|hire|leading to|menant a|position|positions|poste|emploi|emplois|job|jobs"
    r"|work|employment|equivalent|basis|only|possibility of"
)
_WORD = re.compile(
    "|".join(f"(?P<k{kind}>{words})(?= |$)" for kind, words in _WORDS.items()) + rf"|(?:{_FILLERS})(?= |$)"
)
_GLUED = re.compile(r"(?<=[a-z\u00e0-\u00ff])(?=[A-Z])")


@lru_cache(maxsize=4096)
def position_of(text: str) -> int | None:
    """Return the id of the position type that ``text`` describes; None if it has unknown words. Words that lost the
    blank or line between them ("Permanent employmentFull time") are separated at their capitals."""
    found = _read(text)
    return _read(_GLUED.sub(" ", text)) if found is None else found


def _read(text: str) -> int | None:
    rest, found = name_key(text[:_LONGEST]), list[int]()
    while rest:
        match = _WORD.match(rest)
        if match is None:
            return None
        found += [kind for kind in _WORDS if match[f"k{kind}"]]
        rest = rest[match.end() :].lstrip()
    if VOLUNTEER in found:
        return VOLUNTEER
    limited = [kind for kind in found if kind in (CONTRACT, TEMP)]
    return limited[0] if limited else max(found, default=None)
