"""Creates, fetches, updates and lists calls with the official Python client, and prints what came back as JSON."""

import json
import os
from datetime import datetime, timedelta, timezone
from urllib.parse import urlsplit

from twilio.base.exceptions import TwilioRestException
from twilio.http.http_client import TwilioHttpClient
from twilio.rest import Client

BASE_URL = os.environ["CARRIER_BASE_URL"]


class RedirectingClient(TwilioHttpClient):
    """Sends every request to the base URL instead of the host the client was made for."""

    def request(self, method, url, *args, **kwargs):
        parts = urlsplit(url)
        query = f"?{parts.query}" if parts.query else ""
        return super().request(method, f"{BASE_URL}{parts.path}{query}", *args, **kwargs)


client = Client(
    os.environ["CARRIER_ACCOUNT_SID"],
    os.environ["CARRIER_AUTH_TOKEN"],
    http_client=RedirectingClient(timeout=10),
)

to = os.environ["CALL_TO"]
sids = [
    client.calls.create(to=to, from_="+15005550006", twiml="<Response><Pause length='30'/></Response>", timeout=30).sid
    for _ in range(3)
]
fetched = client.calls(sids[0]).fetch()
limited = client.calls(sids[0]).update(time_limit=90)
ended = client.calls(sids[0]).update(status="completed")
listed = client.calls.list(
    to=to, start_time_after=datetime.now(timezone.utc) - timedelta(hours=1), page_size=2, limit=100
)
every = client.calls.list(to=to, page_size=2, limit=100)
try:
    client.calls(sids[0]).update(status="completed")
    refused = None
except TwilioRestException as error:
    refused = error.code
try:
    client.calls.create(to="+15005550001", from_="+15005550006", twiml="<Response/>")
    invalid = None
except TwilioRestException as error:
    invalid = error.code

print(
    json.dumps(
        {
            "created": sids,
            "fetched": [fetched.sid, fetched.to, fetched.direction],
            "limited": limited.sid,
            "ended": [ended.sid, ended.status],
            "listed": [call.sid for call in every],
            "started": len(listed),
            "refused": refused,
            "invalid": invalid,
        }
    )
)
