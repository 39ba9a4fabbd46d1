"""How people apply: the addresses of a job, and the routing type that goes with the one that counts."""

from collections.abc import Mapping

from syncd.domain import ADDRESSES, Routing
from syncd.feeds.faults import Scope

#: Name of an address → the routing type that uses it.
_ROUTINGS = {field.name: field.routing for field in ADDRESSES}
_ADDRESS_OF = {routing: name for name, routing in _ROUTINGS.items()}
URL_FIELD, EMAIL_FIELD = _ADDRESS_OF[Routing.URL], _ADDRESS_OF[Routing.EMAIL]
ROUTING_FIELD = "applicantRoutingType"


def preference(fields: Mapping[str, object], scope: Scope) -> tuple[str, ...]:
    """Return the addresses of ``applicantRoutingType = { prefer = […] }``, or nothing."""
    expression, scope = fields.get(ROUTING_FIELD), scope.at(ROUTING_FIELD).at("prefer")
    if not isinstance(expression, dict) or "prefer" not in expression:
        return ()
    names = expression["prefer"]
    if not isinstance(names, list) or not names or any(name not in tuple(_ROUTINGS) for name in names):
        scope.fault(f"must be a list of {URL_FIELD} and {EMAIL_FIELD}")
        return ()
    for name in names:
        if name not in fields:
            scope.fault(f"{name} is not mapped")
    return tuple(names)


def move_mail_link(body: dict[str, object]) -> bool:
    """Take a ``mailto:`` link where the address of a page is expected for an e-mail address. Return whether there was one."""
    url = body.get(URL_FIELD)
    if not isinstance(url, str) or url[:7].lower() != "mailto:":
        return False
    body[URL_FIELD] = None
    if not body.get(EMAIL_FIELD):
        body[EMAIL_FIELD] = url[7:].partition("?")[0]
    return True


def set_routing(body: dict[str, object], prefer: tuple[str, ...]) -> None:
    """Set the routing type to that of the first address with a value. The other address is not sent: it is not in force."""
    for chosen in prefer:
        if body.get(chosen):
            break
    else:
        body[ROUTING_FIELD] = None
        return
    body[ROUTING_FIELD] = {"id": _ROUTINGS[chosen]}
    for name in prefer:
        if name != chosen:
            body.pop(name, None)
