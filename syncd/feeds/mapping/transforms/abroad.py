"""Names at the end of a location that place it outside Canada: states of the USA, and countries that feeds name."""

from __future__ import annotations

from syncd.domain import fold

#: "CA" is missing: it is Canada's code, too.
_STATE_CODES = (
    "AL AK AZ AR CO CT DE DC FL GA HI ID IL IN IA KS KY LA ME MD MA MI MN MS MO MT NE NV NH NJ NM NY NC ND OH OK OR PA"
    " RI SC SD TN TX UT VT VA WA WV WI WY PR"
)
_STATES = (
    "Alabama, Alaska, Arizona, Arkansas, California, Colorado, Connecticut, Delaware, District of Columbia, Florida,"
    " Georgia, Hawaii, Idaho, Illinois, Indiana, Iowa, Kansas, Kentucky, Louisiana, Maine, Maryland, Massachusetts,"
    " Michigan, Minnesota, Mississippi, Missouri, Montana, Nebraska, Nevada, New Hampshire, New Jersey, New Mexico,"
    " New York, North Carolina, North Dakota, Ohio, Oklahoma, Oregon, Pennsylvania, Puerto Rico, Rhode Island,"
    " South Carolina, South Dakota, Tennessee, Texas, Utah, Vermont, Virginia, Washington, West Virginia, Wisconsin,"
    " Wyoming"
)
_COUNTRIES = (
    "USA, U.S.A., US, U.S., United States, United States of America, États-Unis, UK, U.K., GB, United Kingdom,"
    " Royaume-Uni, Great Britain, England, Scotland, Wales, Northern Ireland, Ireland, Irlande, France, Germany,"
    " Allemagne, Deutschland, Spain, Espagne, Portugal, Italy, Italie, Belgium, Belgique, Netherlands,"
    " The Netherlands, Pays-Bas, Luxembourg, Switzerland, Suisse, Austria, Autriche, Denmark, Danemark, Sweden, Suède,"
    " Norway, Norvège, Finland, Finlande, Poland, Pologne, Czech Republic, Czechia, Romania, Roumanie, Bulgaria,"
    " Bulgarie, Hungary, Hongrie, Greece, Grèce, Croatia, Croatie, Serbia, Serbie, Slovakia, Slovenia, Estonia, Latvia,"
    " Lithuania, Ukraine, Turkey, Turquie, Israel, Israël, India, Inde, Pakistan, Bangladesh, Sri Lanka, China, Chine,"
    " Hong Kong, Taiwan, Japan, Japon, South Korea, Korea, Corée du Sud, Philippines, Vietnam, Viêt Nam, Thailand,"
    " Thaïlande, Malaysia, Malaisie, Singapore, Singapour, Indonesia, Indonésie, Australia, Australie, New Zealand,"
    " Nouvelle-Zélande, Mexico, Mexique, Brazil, Brésil, Argentina, Argentine, Chile, Chili, Colombia, Colombie, Peru,"
    " Pérou, Costa Rica, Jamaica, Jamaïque, Haiti, Haïti, UAE, United Arab Emirates, Émirats arabes unis, Saudi Arabia,"
    " Arabie saoudite, Qatar, Egypt, Égypte, Morocco, Maroc, Algeria, Algérie, Tunisia, Tunisie, Senegal, Sénégal,"
    " Ivory Coast, Côte d'Ivoire, Cameroon, Cameroun, Nigeria, Nigéria, Ghana, Kenya, South Africa, Afrique du Sud"
)


def _key(name: str) -> str:
    return "".join(c for c in fold(name) if c.isalnum())


_NAMES = frozenset(_key(name) for name in (*_STATE_CODES.split(), *f"{_STATES},{_COUNTRIES}".split(",")))


def is_abroad(region: str) -> bool:
    """Return whether ``region``, what follows the city in a location, names a state of the USA or a country other than
    Canada, in English or French: "MA", "Massachusetts, USA", "Royaume-Uni"."""
    return any(_key(part) in _NAMES for part in region.rsplit(",", 2))
