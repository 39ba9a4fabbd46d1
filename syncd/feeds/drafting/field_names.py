"""The names of employers for the fields of a job, in English and French, the likeliest first.

Names are compared without case, accents, articles, and characters that are neither letters nor digits. The last step of a
path counts (``location/city`` is ``city``), or its last two steps together (``locationcity``)."""

from __future__ import annotations

import re
from collections.abc import Mapping

from syncd.domain import name_key

Names = tuple[str, ...]

#: Words that change nothing: "titre du poste" is "titreposte".
_EMPTY = frozenset("a au aux d de des du l la le les of the for your our".split())


def comparable(name: str) -> str:
    """Return a name as it is compared."""
    words = name_key(name.replace("#", " number ")).split()
    return "".join(word for word in words if word not in _EMPTY) or "".join(words)


def _names_by_field(words: Mapping[str, str]) -> dict[str, Names]:
    return {
        field: tuple(dict.fromkeys(comparable(word) for word in names.split()))
        for field, names in words.items()
    }


#: Words in the name of a column of amounts → the period of the pay.
PERIODS = {
    word: period
    for period, words in {
        "hour": "hourly hour heure horaire",
        "day": "daily day jour quotidien",
        "month": "monthly month mensuel mois",
        "week": "weekly week hebdomadaire",
        "year": "annual annually yearly year annuel annuelle annee",
    }.items()
    for word in words.split()
}

NAMES = _names_by_field(
    {
        "referenceId": "referenceid referencenumber reference ref refid refnumber referencecode jobreference jobref"
        " jobrefno jobcode jobid jobnumber jobno partnerjobid requisitionid requisitionnumber requisition reqid"
        " reqno req hitkey vacancyid vacancynumber positionid postingid postingnumber advertid adid offerid"
        " externalid sourceid jobopeningid identifier.value identifiervalue identifier idvalue shortcode jobkey"
        " noemploi noposte numeroposte numerooffre numeroreference numerodossier nodossier numeroconcours noconcours"
        " noaffichage numero offreid idoffre idemploi codeposte uid uuid id guid key slug",
        "title": "title jobtitle jobpostingtitle positiontitle postingtitle vacancytitle businesstitle advertisedtitle roletitle"
        " jobopening jobopeningname"
        " joboffer jobname titre titreposte titreemploi titreoffre intitule intituleposte nomposte poste position"
        " role jobposition name text headline job vacancy designation occupation emploi libelle",
        "description": "description jobdescription descriptionhtml fulldescription htmldescription longdescription"
        " jobdescriptionhtml descriptionposte detailsoffre detailsposte offreemploi taches exigences descriptif body"
        " content contentencoded encoded jobbody adverttext jobadvert aboutrole aboutjob aboutposition whatyouwilldo"
        " jobadtext details jobdetails text summary shortdescription jobsummary resume snippet responsibilities"
        " duties requirements missions profil contenu",
        "closeDate": "closedate closingdate dateclosing expirationdate expirydate expiry expiration expire expires"
        " expiresat expireson validthrough validuntil enddate applicationdeadline deadline applyby postuntil"
        " closingon closeson dateexpiration advertiseduntil openuntil postinguntil displayuntil datefermeture"
        " dateferm datelimite datefin datefinaffichage dateecheance dateclosed closes endson ends postingenddate"
        " datecloture cloture fin finaffichage postingend applybydate applicationdeadlinedate closingdatetime",
        "city": "city joblocationcity locationcity town ville municipalite municipality localite locality"
        " addresslocality cityname jobcity commune worklocationcity community communaute",
        "province": "state province region provincestate stateprovince provinceterritory provincecode statecode"
        " state_code addressregion joblocationstate locationstate joblocationprovince locationprovince jobstate"
        " jobprovince county countrysubdivisioncode prov",
        "location": "location joblocation locations worklocation officelocation primarylocation locationname lieu"
        " lieutravail emplacement localisation place workplace office address jobaddress adresse locationdescription"
        " area joblocations citystate geo site region city",
        "country": "country countrycode pays addresscountry countryname joblocationcountry codepays",
        "postal": "postalcode postcode postal zipcode zip codepostal locationpostalcode joblocationpostalcode",
        "categories": "category categories jobcategory jobcategories categorie categorieemploi jobfunction function"
        " industry sector secteur secteuractivite domaine field jobfield department departments departement"
        " discipline specialty family jobfamily familleemploi familleemplois famille occupationalcategory team tags"
        " categoryname jobsector activite service",
        "positionType": "jobtype employmenttype positiontype type typeemploi contracttype contrattype typecontrat"
        " typeposte contrat worktype employmentstatus employmentclass empclass workercategory workersubtype employeetype"
        " hours schedule workinghours commitment employment jobtypes"
        " timetype contract contracttime tempstravail horaire typeofemployment regime fulltimeparttime fulltime jobstatus",
        "salary": "salary salarytext salaryrange compensation pay payrate wage salaire remuneration salairehoraire"
        " echellesalariale salarydescription basesalary rate jobsalary salarydisplay compensationsummary"
        " renumeration wages estimatedsalary",
        "amount": "salarymin minsalary salaryminimum minimumsalary salarylow salaryfrom salaryrangefrom salaryamount"
        " minimum salairemin salaireminimum payminimum minimumpay basepaylow minpay paymin wagemin minvalue salarystart lowend"
        " compensationmin salaryrangemin remunerationmin payfrom salairede",
        "maxAmount": "salarymax maxsalary salarymaximum maximumsalary salaryhigh salaryto salaryrangeto maximum"
        " salairemax salairemaximum paymaximum maximumpay basepayhigh maxpay paymax wagemax maxvalue salaryend highend"
        " compensationmax salaryrangemax remunerationmax payto salairea",
        "period": "salaryperiod salaryper salarytype salaryunit payperiod salaryfrequency salaryschedule unittext"
        " periodesalaire salaryinterval remunerationunite salaireunite paytype salarytimeunit wageper"
        " wageunit salaryrangeunit interval frequence paybasis ratetype",
        "currency": "salarycurrency currency devise currencycode compensationcurrency",
        "applicationUrl": "applyurl applicationurl applyurllink applylink applicationlink urlapply joburl applyat"
        " howtoapplyurl detailurl url link lien lienpostuler urlpostuler urloffre absoluteurl hostedurl jobpageurl"
        " jobposturl careersapplyurl careersurl redirecturl applyuri uri permalink weburl externalurl joblink"
        " deeplink offerurl href website sourceurl guid postuler pourpostuler",
        "applicationEmail": "applicationemail applyemail contactemail email emailaddress courriel adressecourriel"
        " mail recruiteremail jobemail hremail emailto replyemail mailboxemail couriel postuler pourpostuler",
        "status": "status jobstatus postingstatus state poststate publicationstatus islisted ispublished published statut etat"
        " active",
        "company": "company companyname employer employername organization organisation hiringorganizationname"
        " entreprise employeur client brand",
    }
)
#: Words inside a name against a field that values alone suggest.
AGAINST = _names_by_field(
    {
        "referenceId": "company employer client user recruiter category location parent image sector industry city"
        " country lang feed",
        "title": "company employer recruiter contact seo meta page url code id category department organization"
        " location",
        "description": "company employer meta seo location salary category short about",
        "applicationUrl": "logo image img photo picture company employer organization facebook twitter linkedin"
        " video banner icon source sameas tracking pixel",
        "location": "id url type geo latitude longitude lat lng lon code country remote",
        "applicationEmail": "support privacy",
        "salary": "currency period unit type frequency id code",
    }
)

#: The begin or the end of the name of an id ("annonce" has a "no" in it, too).
ID_LIKE = re.compile(
    r"(?:id|ref|num|code|key)|no(?:dossier|offre|poste|emploi|annonce|concours|affichage|avis|job|posting|position)"
    r"|.*(?:id|ref|num|number|code|key|no)\Z"
)
#: Names of which even a short text is a description.
SURELY_DESCRIPTION = ("description", "jobdescription", "descriptionposte")
