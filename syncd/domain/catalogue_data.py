"""The shipped catalogue entries and the names that feeds use for them. An id never changes its meaning. Names have at
most 40 characters, those of position types at most 10.

Synonyms are compared by ``name_key``: case, accents, underscores and dashes do not count."""

from __future__ import annotations

POSITION_TYPES: dict[int, str] = {1: "Full Time", 2: "Part Time", 3: "Contract", 4: "Temp", 5: "Volunteer"}

PERIODS: dict[int, tuple[str, str]] = {
    1: ("Yearly", "Year"),
    2: ("Monthly", "Month"),
    3: ("Weekly", "Week"),
    4: ("Daily", "Day"),
    5: ("Hourly", "Hour"),
}

ROUTING_TYPES: dict[int, str] = {1: "Email", 2: "URL"}

CATEGORIES: dict[int, str] = {
    1: "Accounting & Finance",
    2: "Administration & Office",
    3: "Agriculture & Environment",
    4: "Arts & Design",
    5: "Automotive",
    6: "Banking & Insurance",
    7: "Construction",
    8: "Customer Service",
    9: "Education & Training",
    10: "Engineering",
    11: "Executive & Management",
    12: "Food & Beverage",
    13: "General Labour",
    14: "Government & Public Service",
    15: "Healthcare",
    16: "Hospitality & Tourism",
    17: "Human Resources",
    18: "IT & Software",
    19: "Legal",
    20: "Manufacturing",
    21: "Marketing & Communications",
    22: "Mining, Oil & Gas",
    23: "Real Estate & Property",
    24: "Retail",
    25: "Sales",
    26: "Science & Research",
    27: "Security & Protection",
    28: "Skilled Trades",
    29: "Social & Community Services",
    30: "Sports & Recreation",
    31: "Transportation & Logistics",
    32: "Other",
}

POSITION_SYNONYMS: dict[int, tuple[str, ...]] = {
    1: (
        "fulltime", "full", "ft", "full time permanent", "fulltime permanent",
        "permanent full time", "permanent", "regular", "regular full time", "full time regular",
        "direct placement", "direct hire", "employee", "temps plein", "à temps plein",
        "temps complet", "plein temps", "poste permanent", "permanent temps plein", "CDI",
    ),
    2: (
        "parttime", "part", "pt", "part time permanent", "parttime permanent",
        "permanent part time", "regular part time", "part time regular", "per diem",
        "temps partiel", "à temps partiel", "permanent temps partiel", "fulltime or parttime",
        "mi-temps",
    ),
    3: (
        "contractor", "contractual", "contract to hire", "fixed term", "fixed term contract",
        "fulltime fixed term", "parttime fixed term", "term", "freelance", "freelancer",
        "contractuel", "contrat", "à contrat", "CDD", "durée déterminée", "travail autonome",
        "pigiste",
    ),
    4: (
        "temporary", "seasonal", "casual", "intern", "internship", "student", "summer job",
        "apprenticeship", "co-op", "temporaire", "saisonnier", "occasionnel", "stage", "stagiaire",
        "étudiant", "emploi d'été", "alternance", "sur appel", "on call",
    ),
    5: (
        "volunteering", "unpaid", "bénévole", "bénévolat",
    ),
}  # fmt: skip

PERIOD_SYNONYMS: dict[int, tuple[str, ...]] = {
    1: (
        "year", "annual", "annually", "yr", "per year", "a year", "per annum", "p.a.", "annum",
        "an", "année", "annuel", "annuellement", "par an", "par année",
    ),
    2: (
        "month", "mo", "mth", "per month", "a month", "mois", "mensuel", "mensuellement",
        "par mois",
    ),
    3: (
        "week", "wk", "per week", "a week", "semaine", "hebdomadaire", "hebdo", "par semaine",
    ),
    4: (
        "day", "per day", "a day", "jour", "journalier", "quotidien", "par jour", "per diem",
    ),
    5: (
        "hour", "hr", "h", "per hour", "an hour", "ph", "heure", "horaire", "de l'heure",
        "par heure",
    ),
}  # fmt: skip

ROUTING_SYNONYMS: dict[int, tuple[str, ...]] = {
    1: (
        "e-mail", "mail", "courriel", "by email", "par courriel",
    ),
    2: (
        "website", "web", "web site", "link", "lien", "site web", "redirect", "external",
    ),
}  # fmt: skip

CATEGORY_SYNONYMS: dict[int, tuple[str, ...]] = {
    1: (
        "accounting", "finance", "accounting and finance", "accounting/finance",
        "finance and accounting", "accounting/auditing", "bookkeeping", "audit", "payroll",
        "comptabilité", "comptabilité et finance", "finances",
    ),
    2: (
        "administration", "administrative", "admin", "administrative assistant",
        "administration and office", "office", "clerical", "admin/clerical", "secretarial",
        "office support", "data entry", "office administration", "bureau", "secrétariat", "soutien administratif",
    ),
    3: (
        "agriculture", "farming", "forestry", "fishing", "environment", "environmental",
        "horticulture", "agriculture and environment", "landscaping", "agroalimentaire", "veterinary", "animal care",
        "agriculture et environnement", "renewable energy",
        "environnement", "foresterie",
    ),
    4: (
        "arts", "design", "creative", "art", "arts and design", "graphic design", "art/creative",
        "photography", "film", "arts, culture", "entertainment", "médias et design",
        "arts et design", "culture",
    ),
    5: (
        "automobile", "auto", "mechanic", "automotive services", "mécanique automobile",
    ),
    6: (
        "banking", "insurance", "banking and insurance", "financial services", "bank", "investment",
        "mortgage", "banque", "assurance", "assurances", "banque et assurance",
        "services financiers",
    ),
    7: (
        "construction trades", "building", "architecture", "civil construction",
        "building construction", "bâtiment", "architecture and construction",
    ),
    8: (
        "customer support", "client service", "client services", "call center", "call centre",
        "support", "customer success", "customer care", "service à la clientèle", "service client",
        "centre d'appels",
    ),
    9: (
        "education", "training", "education and training", "teaching", "teacher", "childcare",
        "early childhood education", "academic", "early childhood",
        "childcare/education", "library", "enseignement", "éducation",
        "formation", "éducation et formation", "services à l'enfance", "petite enfance",
    ),
    10: (
        "engineer", "mechanical engineering", "electrical engineering", "civil engineering",
        "ingénierie", "génie", "génie civil",
    ),
    11: (
        "executive", "management", "executive and management", "executives", "general management",
        "leadership", "senior management", "project management", "consulting", "strategy",
        "business development", "direction", "gestion", "cadres", "haute direction",
        "gestion de projet",
    ),
    12: (
        "food and beverage", "food service", "food services", "food", "restaurant", "restaurants",
        "cook", "kitchen", "bakery", "food preparation", "restauration", "alimentation", "cuisine",
        "services alimentaires", "restaurant and food service",
    ),
    13: (
        "labour", "labor", "general labor", "labourer", "cleaning", "janitorial", "maintenance", "main-d'œuvre", "manutention",
        "warehouse worker", "facilities", "manœuvre", "entretien", "entretien ménager",
        "travail général",
    ),
    14: (
        "government", "public service", "government and public service", "public sector",
        "public administration", "gouvernement", "fonction publique", "secteur public",
        "administration publique", "military", "municipal",
    ),
    15: (
        "health care", "health", "medical", "nursing", "nurse", "health and medical",
        "medical/health", "dental", "pharmacy", "pharmaceutical", "mental health", "physician", "healthcare and medical",
        "support worker", "personal care",
        "health sciences", "santé", "soins de santé", "soins infirmiers", "médical",
    ),
    16: (
        "hospitality", "tourism", "hospitality and tourism", "hotel", "hotels", "travel",
        "hospitality/hotel", "event planning", "event management", "housekeeping",
        "hôtellerie", "tourisme", "hôtellerie et tourisme",
        "tourisme et restauration",
    ),
    17: (
        "hr", "recruiting", "recruitment", "human resource", "people", "talent acquisition", "hr and recruitment",
        "ressources humaines", "RH", "recrutement", "staffing",
    ),
    18: (
        "it", "information technology", "software", "it and software",
        "information technology and software", "computer", "computers", "technology", "tech",
        "software development", "software engineering", "it/software", "developer", "I.T.",
        "web development", "data science", "data", "internet", "telecommunications",
        "computer and it", "network", "cybersecurity", "informatique", "TI",
        "technologies de l'information", "technologie", "logiciel", "développement logiciel",
        "télécommunications",
    ),
    19: (
        "law", "legal services", "paralegal", "lawyer", "juridique", "droit", "services juridiques",
        "notariat",
    ),
    20: (
        "manufacturing and production", "production", "factory", "manufacturing/production", "assembly", "quality assurance",
        "quality control", "operations", "industrial", "fabrication", "usine",
        "production industrielle", "opérations",
    ),
    21: (
        "marketing", "communications", "marketing and communications", "advertising",
        "public relations", "pr", "media", "communication", "marketing and pr", "digital marketing",
        "social media", "journalism", "writing", "translation", "traduction", "editorial", "publishing", "publicité",
        "relations publiques", "médias", "marketing et communications",
    ),
    22: (
        "mining", "oil and gas", "oil", "gas", "energy", "mining oil and gas",
        "energy and utilities", "utilities", "natural resources", "mines", "pétrole et gaz",
        "énergie", "ressources naturelles", "mining and resources",
    ),
    23: (
        "real estate", "property", "property management", "real estate and property", "immobilier",
        "gestion immobilière",
    ),
    24: (
        "retail sales", "store", "retail trade", "cashier", "merchandising", "grocery",
        "vente au détail", "commerce de détail", "détail", "fashion", "beauty", "consumer goods",
    ),
    25: (
        "sale", "sales and business development", "inside sales", "account management",
        "sales representative", "business sales", "vente", "ventes", "représentant", "sales and marketing",
        "ventes et marketing",
        "développement des affaires", "sales and retail",
    ),
    26: (
        "science", "research", "science and research", "research and development", "r&d", "biotech",
        "biotechnology", "laboratory", "scientific", "sciences", "recherche",
        "recherche et développement", "sciences et recherche", "biotechnologie",
    ),
    27: (
        "security", "protection", "security and protection", "protective services",
        "law enforcement", "police", "fire", "security guard", "sécurité", "sécurité publique",
        "services de protection",
    ),
    28: (
        "trades", "skilled trade", "construction/skilled trade", "construction and skilled trades",
        "electrician", "plumbing", "electrical", "maintenance and repair",
        "plumber", "welding", "welder", "carpentry", "installation",
        "installation maintenance repair", "métiers", "métiers spécialisés", "électricien",
        "soudure", "mechanical trades",
    ),
    29: (
        "social services", "community services", "social and community services", "social work",
        "non-profit", "nonprofit", "non profit", "community", "charity", "counselling", "social",
        "services sociaux", "travail social", "communautaire", "organisme sans but lucratif",
        "OBNL",
    ),
    30: (
        "sports", "recreation", "fitness", "sports and recreation", "sport",
        "recreation and fitness", "loisirs", "sports et loisirs",
    ),
    31: (
        "transportation", "logistics", "transportation and logistics", "transport", "shipping",
        "warehouse", "driver", "driving", "drivers", "truck driver", "trucking", "delivery", "supply chain", "distribution",
        "warehousing", "purchasing", "procurement", "aviation", "transport et logistique",
        "logistique", "chauffeur", "livraison", "entrepôt", "chaîne d'approvisionnement", "achats",
    ),
    32: (
        "others", "general", "miscellaneous", "misc", "autre", "autres", "divers", "uncategorized",
        "other/general",
    ),
}  # fmt: skip
