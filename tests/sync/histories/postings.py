"""An employer's postings as its own system has them, and how they change from one delivery to the next."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from datetime import date, timedelta
from decimal import Decimal
from random import Random

TRADES = ("Cook", "Millwright", "Registered Nurse", "Préposé à l'entretien", "Bus Driver", "Développeur", "Paralegal",
          "Cashier", "Électricien", "Early Childhood Educator", "Warehouse Associate", "Agronomist")  # fmt: skip
SHIFTS = ("nights", "weekends", "jour", "relief", "senior", "bilingual", "saison d'été", "level II")
PLACES = (("Toronto", "ON"), ("Montréal", "QC"), ("Halifax", "NS"), ("Calgary", "AB"), ("Trois-Rivières", "QC"),
          ("Winnipeg", "MB"), ("Vancouver", "BC"), ("Moncton", "NB"), ("Regina", "SK"), ("Ottawa", "ON"))  # fmt: skip
TYPES = ("Full Time", "Part Time", "Contract", "Temp")
CATEGORIES = ("Healthcare", "Engineering", "Retail", "Legal", "Food & Beverage", "Skilled Trades")
WORDS = ("you", "work", "with", "care", "équipe", "the", "customers", "of", "our", "shop", "and", "plan", "each", "day",
         "safely", "service", "à", "temps", "tools", "records", "français", "shift", "team", "kitchen", "patients")  # fmt: skip
#: The least and the most of each period, in dollars.
PAY = {"Hourly": (18, 60), "Yearly": (42_000, 120_000)}


@dataclass(frozen=True, slots=True)
class Posting:
    """One posting. ``pay``: amount, most, period. ``close``: its last live day. ``status``: open, closed or draft; a feed that
    has no status lists the open ones alone."""

    reference: str
    title: str
    places: tuple[tuple[str, str], ...]
    type: str
    category: str
    pay: tuple[Decimal, Decimal | None, str] | None
    text: str
    close: date | None
    status: str
    address: str


@dataclass
class Desk:
    """The people who keep the postings. Each number is the chance of a change in a delivery."""

    random: Random
    #: The employer's system has a status for each posting.
    has_status: bool = True
    mails: bool = False
    host: str = "jobs.example.com"
    numbers: int = 1000

    def new(self, today: date) -> Posting:
        random, self.numbers = self.random, self.numbers + self.random.randint(1, 9)
        reference = f"R-{self.numbers}"
        drafted = self.has_status and random.random() < 0.1
        return Posting(
            reference,
            f"{random.choice(TRADES)}, {random.choice(SHIFTS)} {self.numbers % 97}",
            (random.choice(PLACES),),
            random.choice(TYPES),
            random.choice(CATEGORIES),
            self.pay() if random.random() < 0.7 else None,
            self.text(),
            today + timedelta(random.randint(0, 90)) if random.random() < 0.6 else None,
            "draft" if drafted else "open",
            self.address(reference),
        )

    def address(self, reference: str) -> str:
        return f"hr+{reference}@example.com" if self.mails else f"https://{self.host}/apply/{reference}"

    def text(self) -> str:
        return " ".join(self.random.choices(WORDS, k=self.random.randint(40, 90))).capitalize() + "."

    def pay(self) -> tuple[Decimal, Decimal | None, str]:
        period = self.random.choice([*PAY])
        least, most = PAY[period]
        amount = Decimal(self.random.randint(least * 4, most * 4)) / 4
        if period == "Yearly":
            amount = Decimal(int(amount) // 500 * 500)
        return (
            amount,
            amount + (5 if period == "Hourly" else 8000) if self.random.random() < 0.5 else None,
            period,
        )

    def day(self, postings: list[Posting], today: date, leave: float) -> list[Posting]:
        """Return the postings after some hours or days. ``leave``: the chance that one is taken down."""
        random, kept = self.random, list[Posting]()
        for posting in postings:
            if posting.status == "closed" or (posting.close is not None and posting.close < today):
                gone = random.random() < 0.3  # it may lie in the file for some time yet
            else:
                gone = random.random() < leave
            if not gone:
                kept.append(self.edited(posting, today))
        kept += [self.new(today) for _ in range(len(postings)) if random.random() < leave]
        for chance, change in self.campaigns():
            if random.random() < chance:
                kept = [change(posting) for posting in kept]
        return kept or [self.new(today)]

    def edited(self, posting: Posting, today: date) -> Posting:
        """Return the posting with an edit or two, mostly none."""
        random = self.random
        if random.random() < 0.01:
            posting = replace(posting, title=f"{posting.title} ({random.choice(SHIFTS)})")
        if random.random() < 0.02:
            posting = replace(posting, pay=self.pay() if random.random() < 0.8 else None)
        if random.random() < 0.02:
            posting = replace(posting, text=self.text())
        if random.random() < 0.01:
            posting = replace(posting, type=random.choice(TYPES))
        if random.random() < 0.02:
            places = dict.fromkeys((*posting.places, random.choice(PLACES)))
            posting = replace(posting, places=tuple(places)[-3:])
        if posting.close is not None and random.random() < (0.05 if posting.close >= today else 0.2):
            posting = replace(posting, close=today + timedelta(random.randint(0, 45)))
        if self.has_status:
            if posting.status == "draft" and random.random() < 0.3:
                posting = replace(posting, status="open")
            elif random.random() < (0.02 if posting.status == "open" else 0.1):
                posting = replace(posting, status="closed" if posting.status == "open" else "open")
        return posting

    def campaigns(self) -> list[tuple[float, Callable[[Posting], Posting]]]:
        """Return what is done to all postings at once: a rise, a paragraph about the employer, a new site."""

        def rise(posting: Posting) -> Posting:
            if posting.pay is None or posting.pay[2] == "Yearly":
                return posting
            amount, most, period = posting.pay
            return replace(posting, pay=(amount + 1, most and most + 1, period))

        def about(posting: Posting) -> Posting:
            if len(posting.text) > 2000:
                return posting
            return replace(
                posting, text=posting.text + " We are an equal opportunity employer, à Montréal et ailleurs."
            )

        def moved(posting: Posting) -> Posting:
            return replace(posting, address=self.address(posting.reference))

        if self.random.random() < 0.01:
            self.host = f"careers{self.random.randint(1, 99)}.example.com"
        return [(0.01, rise), (0.01, about), (0.01, moved)]
