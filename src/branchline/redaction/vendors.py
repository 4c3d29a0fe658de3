r"""Keys without a distinctive form, recognized by the name of a service before them.

Many services issue keys of 32 hexadecimal digits or UUIDs. The name of the service with a colon or an equals
sign (``datadog: 3f2a…``, ``"heroku": "…"``) distinguishes them from a checksum. For names that contain
``key`` or ``token`` see :mod:`branchline.redaction.names`.
"""

from __future__ import annotations

import re

from branchline.redaction.places import Read, Secret
from branchline.redaction.randomness import looks_like_words

__all__ = ["VENDOR_SIGN", "vendor_key"]

_SERVICES = (
    "adafruit adobe airtable algolia alibaba anyscale artifactory asana assemblyai auth0 azure beamer binance bitbucket "
    "bittrex box brave braintree buildkite circleci cloudflare codecov cohere coinbase confluent contentful coveralls "
    "datadog dd deepgram deepseek discord drone droneci dropbox etsy facebook fastly figma finicity finnhub firebase "
    "flickr freshbooks gitter grafana groq heroku hetzner hubspot intercom jfrog jira kraken kucoin launchdarkly linear "
    "linkedin linode lob looker mailchimp mailgun mapbox mattermost meraki messagebird mistral mixpanel mongodb netlify "
    "newrelic notion nytimes okta openai openweather opsgenie pagerduty paypal perplexity pinecone plaid postmark "
    "postman qdrant railway rapidapi razorpay redis replicate rollbar sendbird sendgrid sentry serpapi shodan shopify "
    "snyk sonar sonarqube splunk spotify square squarespace stripe sumo sumologic supabase telegram tencent together travis "
    "trello twilio twitch twitter typeform upstash vercel virustotal vultr wandb weaviate yandex zendesk zoom"
).split()
_SERVICE = re.compile(
    rf"(?:(?<![A-Za-z])|(?<=\\[nrt]))(?i:{'|'.join(_SERVICES)}|new[ _-]relic|weights[ ]&[ ]biases)(?P<rest>[ \w.-]{{0,24}})"
    r"(?:\\*[\"'`*]{1,3})?(?:[ ]?:[ ]?[A-Za-z][\w.]{0,20})?[ \t]{0,4}:?\Z"
)
_NO_KEYS = re.compile(
    r"(?i:sha\d*|hash|commit|id|ids|uuid|guid|md5|digest|checksum|etag|ref|rev|revision|version|trace|span|request"
    r"|integrity|build|image|tag|public|branch|url|uri|path|cache|fingerprint|event|dsn|session)"
)
_VALUE = re.compile(
    r"[:=](?:\\*[\"'`]|[ \t*]){0,5}(?P<value>[0-9A-Fa-f]{8}(?:-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}|[0-9A-Za-z]{24,80}|[\w=-]{24,80})(?![\w.(/=-])"
)
_BEFORE = 48

VENDOR_SIGN = (
    ":=",
    r"(?<![dD]\":)(?=[\\\"'` \t*]{0,6}[0-9A-Za-z]{7}[\w=-]{17})",
)


def vendor_key(text: str, place: int) -> Read:
    """Return the key after a colon or an equals sign that follows the name of a service."""
    given = _VALUE.match(text, place)
    if given is None:
        return Read([], 0)
    named = _SERVICE.search(text[max(0, place - _BEFORE) : place])
    if named is None or _NO_KEYS.search(named["rest"]):
        return Read([], 0)
    value = given["value"]
    digits = sum(map(str.isdigit, value))
    if digits < 3 or digits == len(value) or len(set(value)) < 8 or looks_like_words(value):
        return Read([], 0)
    return Read([Secret(*given.span("value"), "api-key")], given.end())
