"""Names at the end of a location that place it outside Canada: states of the USA, and countries that feeds name."""

from __future__ import annotations

import re

from syncd.domain import fold

#: Codes count in capitals alone. "CA" is missing: it is Canada's code, too.
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
    " Ivory Coast, Côte d'Ivoire, Cameroon, Cameroun, Nigeria, Nigéria, Ghana, Kenya, South Africa, Afrique du Sud,"
    " Cuba, Lebanon, Liban, Guyana, Iceland, Islande, Malta, Malte, Cyprus, Chypre, Jordan, Jordanie, Kuwait, Koweït, Oman,"
    " Bahrain, Bahreïn, Iran, Iraq, Nepal, Népal, Cambodia, Cambodge, Laos, Myanmar, Mongolia, Mongolie, Kazakhstan,"
    " Uzbekistan, Georgia, Géorgie, Armenia, Arménie, Azerbaijan, Belarus, Moldova, Albania, Albanie, Kosovo, Macedonia,"
    " Bosnia and Herzegovina, Montenegro, Slovaquie, Slovénie, Estonie, Lettonie, Lituanie, Ecuador, Équateur, Bolivia,"
    " Bolivie, Paraguay, Uruguay, Venezuela, Panama, Guatemala, Honduras, El Salvador, Nicaragua, Belize, Bahamas,"
    " The Bahamas, Barbados, Barbade, Bermuda, Bermudes, Trinidad and Tobago, Dominican Republic, République dominicaine,"
    " Ethiopia, Éthiopie, Uganda, Ouganda, Tanzania, Tanzanie, Rwanda, Burundi, Zambia, Zambie, Zimbabwe, Botswana,"
    " Namibia, Namibie, Mozambique, Angola, Congo, Gabon, Mali, Niger, Burkina Faso, Benin, Bénin, Togo, Madagascar,"
    " Mauritius, Maurice, Sudan, Soudan, Libya, Libye, Mauritania, Mauritanie, Afghanistan, Syria, Syrie, Yemen, Yémen"
)
#: A ZIP code, and a remark behind a dash: "MA 02110", "MA - HQ".
_AFTER = re.compile(r"\s+\d{5}(?:-\d{4})?\Z|\s+[-–]\s.*\Z", re.DOTALL)
_ZIP = re.compile(r"CA\s+\d{5}(?:-\d{4})?\Z")


def _key(name: str) -> str:
    return "".join(c for c in fold(name) if c.isalnum())


_CALIFORNIAN = frozenset(
    _key(name)
    for name in (
        "Los Angeles, San Francisco, San Diego, San Jose, Sacramento, Oakland, Irvine, Palo Alto, Mountain View, Sunnyvale,"
        " Santa Monica, Santa Clara, Fremont, Long Beach, Anaheim, Fresno, Pasadena, Berkeley, Burbank, Redwood City, Menlo Park,"
        " Cupertino, San Mateo, Riverside, Carlsbad, Santa Barbara, Culver City, El Segundo, San Francisco Bay Area"
    ).split(",")
)
_CODES = frozenset(_STATE_CODES.split())
_NAMES = frozenset(_key(name) for name in f"{_STATES},{_COUNTRIES}".split(","))


def is_abroad(city: str, region: str) -> bool:
    """Return whether ``region``, the text after the city in a location, names a state of the USA or a country other than
    Canada, in English or French: "MA", "MA 02110", "Massachusetts, USA", "Royaume-Uni". "CA" is California only after one of its
    large cities, else Canada."""
    if region.strip() == "CA":
        return _key(city) in _CALIFORNIAN
    for part in region.rsplit(",", 2):
        name = _AFTER.sub("", part.strip())
        if name in _CODES or _key(name) in _NAMES or _ZIP.match(part.strip()):
            return True
    return False
