"""The words and marks of salaries in English and French, as patterns for ``money``: for texts in lower case with one kind of
dash, apostrophe and blank, and without accents."""

import re

#: Numbers of dollars as they are written in English and French: "10,000.00", "1 200,00", "45k", "1.234,50".
NUMBER = (
    r"\d{1,3}(?:,\d{3})+(?:\.\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ '.]\d{3}){2,}(?:,\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:[ ']\d{3})+(?:[.,]\d{1,4})?(?!\d)"
    r"|\d{1,3}(?:\.\d{3})+,\d{1,4}(?!\d)"
    r"|\d{1,13}(?:[.,]\d{1,4})?(?!\d)"
)
SPACES = re.compile(r"[\s\u00a0\u2007\u2009\u200a\u202f]+")
SIGNS = str.maketrans("–—‒−‐‑~’àâéèê", "-------'aaeee")
YEARLY, MONTHLY, WEEKLY, DAILY, HOURLY = 1, 2, 3, 4, 5

#: Unit words → period id and payments a year where there is no such id (then amounts become yearly).
UNITS: tuple[tuple[str, int, int], ...] = (
    (
        r"bi[- ]?weekly|every (?:two|2) weeks|fortnight(?:ly)?|(?:aux|toutes les) (?:deux|2) semaines|quinzaine"
        r"|(?:(?<=/)|(?<=/ )|(?<=per )|(?<=par ))(?:two|deux|2) (?:weeks|semaines)",
        YEARLY,
        26,
    ),
    (r"semi[- ]?monthly|twice a month|bi[- ]?mensuel(?:le)?", YEARLY, 24),
    (r"hourly|hours?|hrs?|h|heures?|horaire|ph", HOURLY, 1),
    (r"daily|days?|jours?|journalier|journaliere|diem|quotidien(?:ne)?", DAILY, 1),
    (r"weekly|weeks?|wk|semaines?|sem|hebdomadaire|hebdo", WEEKLY, 1),
    (r"monthly|months?|mo|mth|mois|mensuel(?:le)?", MONTHLY, 1),
    (
        r"yearly|annually|annual|annum|years?|yrs?|ans?|annees?|annuel(?:le)?|annuellement|p\.? ?a\.?",
        YEARLY,
        1,
    ),
)
UNIT = "|".join(f"(?P<u{i}>{words})" for i, (words, _, _) in enumerate(UNITS))
PER = rf"(?:(?:/|per|an?|par|de l'|l'|each|every|chaque)\s*)?(?:{UNIT})(?![\w])"
PER_ANY = re.sub(r"[?]P<u[0-9]+>", "?:", PER)
ANY_UNIT = re.compile(rf"(?<![\w]){PER}")
WHOLE_UNIT = re.compile(rf"\s*(?:1 )?{PER}\.?\s*\Z")

ABROAD = "usd|eur|gbp|aud|nzd|inr|chf|jpy|cny|mxn|php|brl|pln|sek|nok|dkk|hkd|sgd|zar"
CURRENCY = rf"(?:ca|c|can|us|u\.s\.|au|nz)?\s?\$|\b(?:cad|{ABROAD})\b|[€£¥₹]"


def _amount(i: int) -> str:
    return (
        rf"(?P<c{i}>{CURRENCY})?\s?(?<![\d.,%])(?P<n{i}>{NUMBER})\s?(?P<k{i}>k(?![a-z]))?(?!\s?%)"
        rf"\s?(?P<d{i}>{CURRENCY}|dollars?)?(?:\s?(?:cad|can))?"
    )


BETWEEN = re.compile(
    rf"{_amount(1)}(?P<p1>\s*{PER_ANY}\.?)?"
    rf"(?:\s*(?:-|to|and|a|et|\.\.\.?|–)\s*(?:up to\s*|jusqu'a\s*)?{_amount(2)})?"
)
UP_TO = re.compile(r"(?:up to|jusqu'a|maximum(?: of| de)?|max\.?|as much as|no more than)\s*:?\s*\Z")
#: Numbers that are not pay: working hours, percentages, years of experience, times of day.
NOT_PAY = re.compile(
    r"(?<![\d.,])(?:"
    r"\d+(?:[.,]\d+)?\s*(?:(?:-|to|a)\s*\d+(?:[.,]\d+)?\s*)?(?:h|hrs?|hours?|heures?)\s*"
    r"(?:/|per|a|par|weekly|each)\s*(?:week|wk|semaine|sem|day|jour|month|mois)\w*"
    r"|\d+(?:[.,]\d+)?\s*%|\d+\s*\+?\s*(?:years?|ans|months?|mois|weeks?|semaines|days?|jours)(?: of)?\s*"
    r"(?:experience|d'experience|vacation|vacances|conge|leave|off|paid)|401\s?\(?k\)?"
    r"|\d{1,2}:\d\d\s*(?:am|pm)?"
    # the number of a step or a grade in front of the pay: "Step 1 $32.15", "Grade 7 - $32.15", "Echelon 1 : 24,50 $"
    r"|(?:(?<=step )|(?<=grade )|(?<=band )|(?<=echelon )|(?<=niveau )|(?<=classe )|(?<=class )|(?<=group )|(?<=groupe )"
    r"|(?<=tier )|(?<=palier )|(?<![a-z] level )(?<=level ))"
    r"\d{1,2}(?=\s?[-:]?\s?\$\s?\d|\s?:\s?\d)"
    r"|\d+(?:[.,]\d+)?\s*(?:hours|heures|hrs|hour(?=[\s-]*(?:shift|day|week)))\b(?!\s*(?:rate|pay))"
    r"|\$?\s?\d[\d ,.]*\s?k?\s?\$?\s*(?:signing|sign[- ]on|retention|referral|hiring|welcome|car|vehicle)\s*"
    r"(?:bonus|allowance))"
)
SUM = (
    rf"(?:{CURRENCY})?\s?(?<![\d.,])(?:{NUMBER})\s?(?:k(?![a-z]))?(?!\s?%)"
    rf"\s?(?:{CURRENCY}|dollars?(?!\w))?"
)
#: Sums that are paid once or beside the pay: "bonus of $5,000", "prime de 5000$", "$100 gift card", "$500 at signing".
#: A "bonus" in front needs its "of": "salary plus bonus $60,000" says the pay.
EXTRA = re.compile(
    r"(?:\bbonus(?:es)? (?:of |de |d'|up to |jusqu'a )+|\bgift cards? (?:of |worth )+"
    r"|\bprimes? ?(?:(?:de|d'|a|la|l'|un|une|jusqu'a|signature|embauche|bienvenue|retention|:) ?)*"
    r"|\bcartes?[- ]cadeaux? (?:de |d'une valeur de )?)"
    rf"{SUM}(?: ?(?:-|to|a) ?{SUM})?"
    rf"|{SUM} ?(?:gift[- ]?cards?\b|(?:at |on |upon )?signing\b|a la signature\b|en cartes?[- ]cadeaux?\b"
    r"|(?:annual |yearly |year[- ]end |performance )?bonus\b(?! (?:eligib|program|plan|potential|possib)))"
)
#: Pay for a piece of work, or for a time of another length, which no period of the API is: "$0.65/km", "$100 per shift", "20 $ la
#: visite", "$4,000 every four weeks".
OF_PIECE = (
    r"(?:(?:three|four|trois|quatre|[34]) (?:weeks|semaines)|(?:\d{1,2}|fifteen|thirty) minutes"
    r"|(?:\w+[- ]?(?:h|hrs?|hours?|heures?)[- ]?)?(?:shift|quart)s?|kms?|kilometres?|miles?|visite?s?|sessions?|seances?|pieces?"
    r"|unite?s?|loads?|trips?|voyages?|class(?:es)?|courses?|cours|eleves?|students?|patients?|calls?|appels?|words?|mots?"
    r"|articles?|games?|matchs?|events?|evenements?)\b"
)
PIECE = re.compile(
    rf"{SUM}(?: ?(?:-|to|a) ?{SUM})? ?(?:/|per\b|par\b|an?\b|la\b|le\b|l'|each\b|every\b|chaque\b|aux\b|toutes les\b) ?{OF_PIECE}"
)
#: Sums that may stand beside the pay, by the word before or after them: "night premium of $2/hr", "2$/h de prime de soir".
#: They are left out only where another amount says the pay.
BESIDE = (
    r"(?:premiums?(?! (?:pay|wage|salary))|differentials?|primes?|tips?|gratuit(?:y|ies)|pourboires?|overtime|ot"
    r"|(?:temps|heures) supplementaires?|allowances?|allocations?|dues|parking|stationnement|wellness|rrsp|reer"
    r"|spending accounts?|frais)"
)
PER_TIME = r"\s*(?:/|per|an?|par)\s*(?:day|jour|week|semaine|month|mo|mois|year|annee|an)\.?"
OF_SHIFT = "(?:night|evening|afternoon|weekend|shift|soir|nuit|quart|fin|semaine|uniform|tool|boot|average|monthly|annual)"
PURPOSE = (
    r"(?:car|vehicle|automobile|auto|voiture|vehicule|phone|cell ?phone|telephone|cellulaire|travel|meals?|repas|housing"
    r"|logement)"
)
FOR = r" ?(?:in |for |pour |de |d')?(?:a |the |la |le |l'|un |une )?"
#: A named allowance beside the pay: "$40 per month phone allowance", "allocation de 500 $ par mois".
ALLOWANCE = re.compile(
    rf"{SUM}(?: ?(?:-|to|a) ?{SUM})?{PER_TIME}{FOR}{PURPOSE} (?:allowance|allocation)\b"
    rf"|\ballocations? (?:de |d'|: ?)?{SUM}(?:{PER_TIME})?"
)
#: The same, by its purpose alone: "$500/month car", "500 $ par mois pour la voiture". It is left out only where another
#: amount says the pay: "$2,500 per week travel" may be all there is.
FOR_PURPOSE = re.compile(
    rf"{SUM}(?: ?(?:-|to|a) ?{SUM})?{PER_TIME}{FOR}{PURPOSE}(?= ?(?:[,;.+&)]|and\b|et\b|plus\b|\Z))"
)
BESIDE_PAY = re.compile(
    rf"\b{BESIDE}\b(?: (?!and\b|plus\b|et\b|then\b)[a-z']+){{0,4}}?(?: ?[:(]| d'| jusqu'a)? ?{SUM}"
    rf"(?: ?(?:-|to|a) ?{SUM})?(?:\s*{PER_ANY})?"
    rf"|{SUM}(?:\s*{PER_ANY})? (?:in |de |d'|en )?(?:{OF_SHIFT} ){{0,2}}?{BESIDE}\b"
    rf"(?!(?: [a-z']+){{0,4}} ?[:(]? ?{SUM})"
)
#: PIECE and BESIDE_PAY take long, and are tried on texts with one of these alone.
SELDOM = re.compile(rf"\b(?:{BESIDE}|{OF_PIECE})\b")
#: The text keeps the pay to itself, so an amount for something else is not the pay.
UNSAID = re.compile(
    r"\b(?:competitive|competitif|competitifs|concurrentiel(?:le)?|commensurate|a discuter|negotiable|negociable|tbd)\b"
)
#: When pay is handed out, which is not the time that it is for: "$90,000, paid bi-weekly".
PAYDAY = re.compile(
    r"\b(?:paid|payable|payee?s?|versee?s?) (?:out )?(?:(?:per|par|each|every|chaque) )?"
    rf"(?:{UNITS[0][0]}|{UNITS[1][0]}|{UNITS[4][0]}|{UNITS[5][0]})(?!\w)"
)
#: "1e9": nobody writes pay so, and a spreadsheet that did has lost its digits.
SCIENTIFIC = re.compile(r"(?<![a-z\d])\d[\d.,]*e[+-]?\d")
#: "-1 per hour", "$-25"; "- 25" and "-$25" are items of a list.
NEGATIVE = re.compile(rf"(?:{CURRENCY})?\s?-\d")
MILLIONS = re.compile(r"\d\s*(?:million|mm?\b)")
COMMISSION = re.compile(r"\bcommissions?\b|\bote\b|\bon[- ]target earnings\b")
FOREIGN = re.compile(rf"(?<![a-z])(?:(?:us|u\.s\.|au|nz)\s?|r|mx|hk|nt)\$|\b(?:{ABROAD})\b|[€£¥₹]")
#: Words that do not count when a text is said to have little but a number.
FILLERS = re.compile(
    r"\b(?:salary|salaire|pay|rate|wage|from|starting(?: at)?|up to|a partir de|de|between|entre|base|max|min"
    r"|plus|commission)\b"
)
#: After a number without a sign of money it is a length of time, where an amount follows: "after 30 days, $19 per hour".
TIME = re.compile(r" ?(?:days?|jours?|weeks?|semaines?|months?|mois|years?|ans?)\b")
#: A number at the end, which counts the unit after it.
COUNT = re.compile(r"\d[- ]?\Z")

DOLLARS = r"\$((?:\d{1,3}(?:,\d{3})+|\d{1,9})(?:\.\d\d?)?)"
#: The pay of most feeds: "$25.50 - $30 per hour", "$52,000 / year".
USUAL = re.compile(
    rf"{DOLLARS}(?: ?[-–] ?{DOLLARS})? ?(?:/ ?|per |an? )(hour|day|week|month|year)",
    re.ASCII | re.IGNORECASE,
)
#: Three digits after the only dot. They are thousands where the amount would be too little for its period otherwise: period
#: → the most digits before the dot. "52.000 $ / an", "1.200 $ par semaine"; not "$25.125 / hour", nor "$850.000 / week".
DOTTED = re.compile(r"([1-9]\d{0,2})\.\d{3}")
DIGITS_OF_THOUSANDS = {YEARLY: 3, MONTHLY: 2, WEEKLY: 1}
#: A unit that stands directly in front of its amount: "Hourly rate: $28", "Salaire annuel de 52 000 $".
UNIT_BEFORE = re.compile(
    rf"(?<!\w)(?:{UNIT})(?: (?:salary|salaire|pay|base|wage|rate))? ?(?:of|de|d'|:|-)? ?\Z"
)
#: A unit in brackets or behind a comma, which is not that of a next amount: "$28.50 (per hour)", "$45,000, annual".
UNIT_BESIDE = re.compile(rf"\s?[,(]\s?{PER}(?!\s*(?:salary|salaire|rate|pay|base)?\s*[:-]?\s*[$\d])")
LENGTH = re.compile(r"(?:\d|\bfull|\bper|\bpar)[- ]?\Z")
PERIOD = {"hour": HOURLY, "day": DAILY, "week": WEEKLY, "month": MONTHLY, "year": YEARLY}
