"""Credentials, and formats that JSON Schema cannot express. Schemathesis loads this file in each part of the run."""

import base64
import hashlib
import hmac
import itertools
import json
import os
import re
import time
from datetime import datetime
from urllib.parse import parse_qsl

import requests
import schemathesis
from hypothesis import strategies as st
from requests.auth import AuthBase
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import IgnoredAuth, RejectedPositiveData

BASE_URL = os.environ["FUZZ_BASE_URL"]
WHO = os.environ["FUZZ_WHO"]

addresses = (f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))


def sign_up() -> str:
    """Returns the session of a new account, for requests that end the session."""
    name = hashlib.sha256(os.urandom(16)).hexdigest()[:24]
    answer = requests.post(
        f"{BASE_URL}/portal/sign-up",
        json={
            "email": f"{name}@example.com",
            "password": "correct horse battery",
            "name": "Ada",
            "account_name": "Acme",
        },
        headers={"Origin": BASE_URL, "X-Forwarded-For": next(addresses)},
        timeout=30,
    )
    answer.raise_for_status()
    return answer.cookies["sid"]


# Each session can send 600 requests per minute.
sessions = itertools.cycle(os.environ.get("FUZZ_SESSIONS", "none").split(" "))


@schemathesis.auth(refresh_interval=None)
class Identity:
    def get(self, case, context):
        if WHO == "session":
            return next(sessions)
        if WHO == "newcomer":
            return sign_up()
        return os.environ.get("FUZZ_KEY", "")

    def set(self, case, data, context):
        # Each request has another client address, because limits by address are not tested here.
        case.headers["X-Forwarded-For"] = next(addresses)
        if WHO == "key":
            case.headers["Authorization"] = f"Bearer {data}"
        if WHO in ("session", "newcomer"):
            case.headers["Cookie"] = f"sid={data}"
            case.headers["Origin"] = BASE_URL
            # The portal's pages send a Content-Type even without a body.
            if "Content-Type" not in case.headers and not case.operation.body:
                case.headers["Content-Type"] = "application/json"


class CarrierSignature(AuthBase):
    """Signs the URL and all fields of the form just before the request is sent."""

    def __call__(self, request):
        body = request.body if isinstance(request.body, str) else (request.body or b"").decode("utf-8", "replace")
        form = {}
        for name, value in parse_qsl(body, keep_blank_values=True):
            form.setdefault(name, set()).add(value)
        text = request.url + "".join(name + value for name in sorted(form) for value in sorted(form[name]))
        token = os.environ["FUZZ_CARRIER_TOKEN"].encode()
        digest = hmac.new(token, text.encode("utf-8", "surrogatepass"), hashlib.sha1).digest()
        request.headers["X-Twilio-Signature"] = base64.b64encode(digest).decode()
        return request


class PaymentSignature(AuthBase):
    def __call__(self, request):
        body = request.body.encode() if isinstance(request.body, str) else (request.body or b"")
        now = str(int(time.time()))
        digest = hmac.new(os.environ["FUZZ_PAYMENT_SECRET"].encode(), now.encode() + b"." + body, hashlib.sha256)
        request.headers["Stripe-Signature"] = f"t={now},v1={digest.hexdigest()}"
        return request


def leaves_out(case, header: str) -> bool:
    """Returns true if the request tests a missing header."""
    data = case.meta.phase.data if case.meta else None
    mutated = {mutation.parameter for mutation in getattr(data, "mutations", None) or []}
    return getattr(data, "parameter", None) == header or header in mutated


@schemathesis.hook
def before_call(context, case, kwargs):
    if WHO == "carrier" and not leaves_out(case, "X-Twilio-Signature"):
        kwargs["auth"] = CarrierSignature()
        if isinstance(case.body, dict) and isinstance(case.body.get("AccountSid"), str):
            case.body["AccountSid"] = os.environ["FUZZ_CARRIER_ACCOUNT"]
    if case.operation.path == "/webhooks/payments" and not leaves_out(case, "Stripe-Signature"):
        kwargs["auth"] = PaymentSignature()


# Error messages for rules that JSON Schema cannot express: rules between fields, or between a request and stored data
# or settings. A request that breaks one matches the OpenAPI document. Every other 400 remains a finding.
BEYOND_SCHEMA = [
    # A cursor is authenticated for one list, so generated ones are never valid.
    r"cursor must be the next_cursor of the same list with the same filters\.",
    r"limit and cursor cannot be combined with CSV, which contains the whole period\.",
    r"from must be before to\.",
    r"The period must have at most \d+ days\.",
    r"Give call_id to read the status of a call, or to_phone_number and agent_id to place one\.",
    # Without call_id, a query needs to_phone_number and agent_id.
    r"to_phone_number is required\.",
    r"agent_id is required\. Only POST accepts [^;]*\.",
    r"to_phone_number must differ from the number that the call comes from\.",
    # Rules about the configuration, the offered engines and the objects that an account has.
    r"voice: \S+ is not available on the engines? [^;]*; use one of [^;]*",
    r"language: the voice \S+ does not speak [^;]*; use one of [^;]*",
    r"language:? must be a language tag like en-US",
    r"engine: \S+ is not configured on this service; use one of [^;]*",
    r"[a-z_]+: [a-z-]+ does not support it; remove the setting, or use an engine that supports it: [a-z, -]*",
    r"phone_number must be a number of this account\.",
    r"No agent found: [^;]*",
    r"tools:? must have unique names",
    r"tools:? name must not be a reserved one [^;]*",
    r"tools:? headers must not (set \S+, which the service sets itself|contain the same name twice)\.",
    r"transfer_numbers:? must not contain an emergency or short number",
    r"transfer_numbers:? must be in E\.164 format without the national trunk prefix, [^;.]*",
    r"expires_at must be in the future\.",
    r"current_password is incorrect\.",
    r"(new_)?password (is too common|must not consist of [^.]*)\. Choose [^.]*\.",
    r"A (live|test) payment cannot be credited to the (live|test) balance\.",
    r"Either livemode or metadata\.mode is required\.",
    r"client_reference_id (or|and) metadata\.account_id (is required|differ)\.",
]
ONLY_BEYOND_SCHEMA = re.compile(rf"(?:(?:{'|'.join(BEYOND_SCHEMA)})(?:; |\. | |\.?$))+")

REJECTED_CALL = '<?xml version="1.0" encoding="UTF-8"?><Response><Reject reason="busy"/></Response>'


@schemathesis.hook
def filter_failure(context, failure, case, response):
    # The carrier can only use TwiML, so a signed request gets 200 and rejects the call if a field or the key is invalid.
    if isinstance(failure, (AcceptedNegativeData, IgnoredAuth)) and case.operation.path == "/inbound_call":
        return WHO != "carrier" or response.status_code != 200 or response.text != REJECTED_CALL
    if not isinstance(failure, RejectedPositiveData) or response.status_code != 400:
        return True
    return ONLY_BEYOND_SCHEMA.fullmatch(response.json()["message"]) is None


# Formats that JSON Schema cannot express. No server listens on this port, so requests to it fail at once.
path = st.text("abcdefghijklmnopqrstuvwxyz0123456789/", max_size=20)
schemathesis.openapi.format("uri", path.map(lambda rest: f"http://127.0.0.1:4/{rest}"))
# Times in the future, because past ones are rejected.
times = st.datetimes(datetime(2100, 1, 1), datetime(2199, 1, 1))
schemathesis.openapi.format("date-time", times.map(lambda at: at.isoformat(timespec="milliseconds") + "Z"))
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(max_size=20)
names = st.text("abcdefghijklmnopqrstuvwxyz_", min_size=1, max_size=20)
schemathesis.openapi.format("json-object", st.dictionaries(names, scalars, max_size=5).map(json.dumps))
types = st.sampled_from(["array", "boolean", "integer", "null", "number", "object", "string"])
properties = st.dictionaries(names, types.map(lambda name: {"type": name}), max_size=5)
schemathesis.openapi.format(
    "json-schema", properties.map(lambda fields: json.dumps({"type": "object", "properties": fields}))
)
