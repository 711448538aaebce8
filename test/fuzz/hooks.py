"""Who asks, and what JSON Schema cannot say of a value: loaded by Schemathesis in each part of the run."""

import base64
import hashlib
import hmac
import itertools
import json
import os
from urllib.parse import parse_qsl

import requests
import schemathesis
from hypothesis import strategies as st
from requests.auth import AuthBase

BASE_URL = os.environ["FUZZ_BASE_URL"]
WHO = os.environ["FUZZ_WHO"]

addresses = (f"10.{n >> 16 & 255}.{n >> 8 & 255}.{n & 255}" for n in itertools.count(1))


def sign_up() -> str:
    """A session of an account that nobody else has: for requests after which it is over."""
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


# Each session may ask 600 times a minute.
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
        # Many clients, each with an address of its own: limits by address are not what is tested.
        case.headers["X-Forwarded-For"] = next(addresses)
        if WHO == "key":
            case.headers["Authorization"] = f"Bearer {data}"
        if WHO in ("session", "newcomer"):
            case.headers["Cookie"] = f"sid={data}"
            case.headers["Origin"] = BASE_URL
            # As the portal's pages do, also without a body.
            if "Content-Type" not in case.headers and not case.operation.body:
                case.headers["Content-Type"] = "application/json"


class CarrierSignature(AuthBase):
    """Over the address and all fields of the form, as it is about to be sent."""

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
        import time

        body = request.body.encode() if isinstance(request.body, str) else (request.body or b"")
        now = str(int(time.time()))
        digest = hmac.new(os.environ["FUZZ_PAYMENT_SECRET"].encode(), now.encode() + b"." + body, hashlib.sha256)
        request.headers["Stripe-Signature"] = f"t={now},v1={digest.hexdigest()}"
        return request


@schemathesis.hook
def before_call(context, case, kwargs):
    if WHO == "carrier":
        kwargs["auth"] = CarrierSignature()
        if isinstance(case.body, dict) and isinstance(case.body.get("AccountSid"), str):
            case.body["AccountSid"] = os.environ["FUZZ_CARRIER_ACCOUNT"]
    if WHO == "nobody" and case.operation.path == "/webhooks/payments":
        kwargs["auth"] = PaymentSignature()


# A port that nothing listens on: what is sent there is refused at once.
schemathesis.openapi.format(
    "uri", st.from_regex(r"\Ahttps?://127\.0\.0\.1:9/[a-z0-9/]{0,20}(\?[a-z]=[a-z0-9]{0,8})?\Z")
)
scalars = st.none() | st.booleans() | st.integers(-(2**53), 2**53) | st.text(st.characters(codec="ascii"), max_size=20)
names = st.text(st.characters(codec="ascii", categories=("L", "N")), min_size=1, max_size=20)
schemathesis.openapi.format("json-object", st.dictionaries(names, scalars, max_size=5).map(json.dumps))
