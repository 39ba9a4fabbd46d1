"""Additions to aiohttp for every HTTP application of the service: limits on connections and requests, strict bodies,
problems (RFC 9457), conditional answers, CORS, request ids and timings."""

from syncd.web import limits, problems
from syncd.web.addresses import Addresses, address_in
from syncd.web.body import BodyReader
from syncd.web.conditional import JSON, answer, conditions_of, prefers, tag_of
from syncd.web.envelope import (
    KEY_ID,
    REQUEST_ID,
    Cors,
    Guard,
    RequestLog,
    RequestTimes,
    add_endpoint,
    add_not_found,
    envelope,
)
from syncd.web.monitoring import Endpoints, OperatorToken, ReadinessCheck, controls_of, health_of, no_token
from syncd.web.outgoing import MAX_RETRY_AFTER, retry_after, why_no_connection
from syncd.web.problems import CODES, Refusal
from syncd.web.rate_limits import FailedKeys, key_limit
from syncd.web.server import STOPPING, Server
