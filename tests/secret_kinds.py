"""Secrets of many kinds, drawn from a seed, and the texts in which people leave them.

None is real: all are made when the tests run.
"""

from __future__ import annotations

import base64
import json
import string
from collections.abc import Callable
from random import Random
from typing import NamedTuple
from uuid import UUID

from branchline.redaction.seed_words import SEED_WORDS

LOWER, UPPER, DIGITS = string.ascii_lowercase, string.ascii_uppercase, string.digits
AN = string.ascii_letters + DIGITS
HEX = DIGITS + "abcdef"
URL64 = AN + "-_"
B64 = AN + "+/"
BASE32 = UPPER + "234567"
BASE58 = "".join(sorted(set(AN) - set("0OIl")))

Draw = Callable[[Random], str]

BARE = (
    "I used {} for this.",
    "the value is `{}`\n",
    "export CI_VARIABLE={}",
    "config:\n  value: {}\n",
    '{{"value": "{}", "n": 1}}',
    "curl -H 'X-Something: {}' host",
    "value = '{}'",
    "({})",
)
"""Where a secret is known by its form alone."""


class Kind(NamedTuple):
    """One kind of secret: how it is drawn, and the texts in which it has to be found."""

    draw: Draw
    places: tuple[str, ...] = BARE


def some(random: Random, alphabet: str, size: int) -> str:
    return "".join(random.choices(alphabet, k=size))


def parts(*pieces: str | tuple[str, int]) -> Draw:
    """Literals, and pairs of an alphabet and a size."""
    return lambda random: "".join(
        piece if isinstance(piece, str) else some(random, *piece) for piece in pieces
    )


def uuid(random: Random) -> str:
    return str(UUID(int=random.getrandbits(128), version=4))


def then(prefix: str, draw: Draw, suffix: str = "") -> Draw:
    return lambda random: prefix + draw(random) + suffix


def named(*names: str) -> tuple[str, ...]:
    """Where a secret is known by a name: variables, JSON, YAML, TOML, Python, headers, options, sentences."""
    places: list[str] = []
    for name in names:
        kebab = name.lower().replace("_", "-")
        camel = "".join(part.capitalize() for part in name.split("_"))
        places += (
            f"export {name}={{}}\n",
            f'{name}="{{}}"',
            f'{{{{"{name}": "{{}}"}}}}',
            f'{{{{"{name.lower()}":"{{}}","other":1}}}}',
            f"{name.lower()}: {{}}\n",
            f'{name.lower()} = "{{}}"\n',
            f"os.environ['{name}'] = '{{}}'",
            f'const {camel[0].lower()}{camel[1:]} = "{{}}";',
            f"curl -H '{kebab}: {{}}' host",
        )
    return tuple(places)


def b64(text: str) -> str:
    return base64.b64encode(text.encode()).decode()


def url64(value: object) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def jwt(random: Random) -> str:
    head, body = (
        {"alg": "HS256", "typ": "JWT"},
        {"sub": some(random, DIGITS, 10), "iat": random.randrange(10**9)},
    )
    return f"{url64(head)}.{url64(body)}.{some(random, URL64, 43)}"


def block(kind: str, *, end: str = "\n") -> Draw:
    def draw(random: Random) -> str:
        lines = [some(random, B64, 64) for _ in range(random.randrange(3, 25))]
        lines.append(some(random, B64, 22) + "==")
        return end.join([f"-----BEGIN {kind}-----", *lines, f"-----END {kind}-----"])

    return draw


def chosen(random: Random) -> str:
    """A password that follows the rules of many sites: words, digits and a sign."""
    word = random.choice(("Sommer", "winter", "Dragon", "correct", "hunter"))
    return (
        word
        + random.choice(("-", "_", ""))
        + some(random, AN, 4)
        + some(random, DIGITS, 2)
        + random.choice("!#%*")
    )


def weak(random: Random) -> str:
    word = random.choice(["hunter", "dragon", "summer", "monkey", "shadow", "correct", "maple", "coffee"])
    return word + some(random, DIGITS, random.randrange(1, 5)) + random.choice(["", "!", "?", "#"])


def strong(random: Random) -> str:
    return some(random, AN + "!@#%^*_+-", random.randrange(12, 24)) + random.choice(AN)


def words(size: int) -> Draw:
    known = sorted(SEED_WORDS)
    return lambda random: " ".join(random.choices(known, k=size))


def discord(random: Random) -> str:
    return (
        random.choice("MNO")
        + some(random, AN, 23)
        + "."
        + some(random, URL64, 6)
        + "."
        + some(random, URL64, 27)
    )


def putty(random: Random) -> str:
    return "\n".join(some(random, B64, 64) for _ in range(14))


HEX32, HEX40, HEX64 = parts((HEX, 32)), parts((HEX, 40)), parts((HEX, 64))
KINDS: dict[str, Kind] = {
    # models
    "OpenAI": Kind(parts("sk" "-", (AN, 20), "T3Blbk" "FJ", (AN, 20))),
    "OpenAI, project": Kind(parts("sk" "-proj-", (URL64, 74), "T3Blbk" "FJ", (URL64, 73), (AN, 1))),
    "OpenAI, service account": Kind(parts("sk" "-svcacct-", (URL64, 57), (AN, 1), "T3Blbk" "FJ", (URL64, 58))),
    "OpenAI, admin": Kind(parts("sk" "-admin-", (URL64, 58), "T3Blbk" "FJ", (URL64, 58))),
    "OpenAI, older": Kind(parts("sk" "-", (AN, 48))),
    "Anthropic": Kind(parts("sk" "-ant-api03-", (URL64, 93), "AA")),
    "Anthropic, admin": Kind(parts("sk" "-ant-admin01-", (URL64, 93), "AA")),
    "Anthropic, OAuth": Kind(parts("sk" "-ant-oat01-", (URL64, 93), "AA")),
    "OpenRouter": Kind(parts("sk" "-or-v1-", (HEX, 64))),
    "DeepSeek": Kind(parts("sk" "-", (HEX, 32))),
    "Google API": Kind(parts("AI" "za", (URL64, 35))),
    "Google OAuth": Kind(parts("ya" "29.", (URL64, 120))),
    "Google OAuth refresh": Kind(parts("1/" "/0", (URL64, 80))),
    "Google OAuth client": Kind(parts("GOC" "SPX-", (URL64, 28))),
    "xAI": Kind(parts("xa" "i-", (AN, 80))),
    "Groq": Kind(parts("gs" "k_", (AN, 52))),
    "Hugging Face": Kind(parts("h" "f_", (string.ascii_letters, 34))),
    "Replicate": Kind(parts("r" "8_", (AN, 37))),
    "Perplexity": Kind(parts("pp" "lx-", (AN, 48))),
    "Fireworks": Kind(parts("f" "w_", (AN, 24))),
    "Together": Kind(parts("tgp" "_v1_", (URL64, 43))),
    "Together, older": Kind(HEX64, named("TOGETHER_API_KEY")),
    "ElevenLabs": Kind(parts("sk" "_", (HEX, 48))),
    "NVIDIA": Kind(parts("nv" "api-", (URL64, 64))),
    "Cerebras": Kind(parts("cs" "k-", (LOWER + DIGITS, 48))),
    "Tavily": Kind(parts("tv" "ly-", (AN, 32))),
    "LangSmith": Kind(parts("ls" "v2_pt_", (HEX, 32), "_", (HEX, 10))),
    "Mistral": Kind(parts((AN, 32)), named("MISTRAL_API_KEY")),
    "Cohere": Kind(parts((AN, 40)), named("COHERE_API_KEY", "CO_API_KEY")),
    "Pinecone": Kind(parts("pc" "sk_", (AN, 6), "_", (AN, 62))),
    "Pinecone, older": Kind(uuid, named("PINECONE_API_KEY")),
    "Qdrant": Kind(parts((URL64, 54)), named("QDRANT_API_KEY")),
    "Weights & Biases": Kind(HEX40, named("WANDB_API_KEY")),
    "Deepgram": Kind(HEX40, (*named("DEEPGRAM_API_KEY"), "Authorization: Token {}\n")),
    "AssemblyAI": Kind(HEX32, named("ASSEMBLYAI_API_KEY")),
    "Azure OpenAI": Kind(HEX32, (*named("AZURE_OPENAI_API_KEY"), "curl -H 'api-key: {}' host")),
    "Langfuse": Kind(then("sk" "-lf-", uuid)),
    "Jina": Kind(parts("ji" "na_", (HEX, 32), (AN, 28))),
    "Voyage": Kind(parts("p" "a-", (URL64, 43))),
    "RunPod": Kind(parts("rp" "a_", (UPPER + DIGITS, 40), (AN, 6))),
    # source code, packages, builds
    "GitHub, personal": Kind(parts("gh" "p_", (AN, 36))),
    "GitHub, OAuth": Kind(parts("gh" "o_", (AN, 36))),
    "GitHub, user": Kind(parts("gh" "u_", (AN, 36))),
    "GitHub, server": Kind(parts("gh" "s_", (AN, 36))),
    "GitHub, refresh": Kind(parts("gh" "r_", (AN, 76))),
    "GitHub, fine-grained": Kind(parts("github" "_pat_", (AN, 22), "_", (AN, 59))),
    "GitLab": Kind(parts("gl" "pat-", (URL64, 20))),
    "GitLab, deploy": Kind(parts("gl" "dt-", (URL64, 20))),
    "GitLab, runner": Kind(parts("gl" "rt-", (URL64, 20))),
    "GitLab, runner registration": Kind(parts("GR" "1348941", (URL64, 20))),
    "GitLab, trigger": Kind(parts("gl" "ptt-", (HEX, 40))),
    "GitLab, job": Kind(parts("gl" "cbt-", (AN, 2), "_", (URL64, 20))),
    "GitLab, OAuth": Kind(parts("gl" "oas-", (HEX, 64))),
    "GitLab, feed": Kind(parts("gl" "ft-", (URL64, 20))),
    "GitLab, agent": Kind(parts("gl" "agent-", (URL64, 50))),
    "Bitbucket": Kind(parts("AT" "BB", (AN, 32))),
    "Atlassian": Kind(parts("AT" "ATT3xFf", (URL64, 170), "=", (HEX.upper(), 8))),
    "Jira": Kind(parts((AN, 24)), named("JIRA_API_TOKEN", "ATLASSIAN_API_TOKEN")),
    "npm": Kind(parts("np" "m_", (AN, 36))),
    "npm, in a file": Kind(uuid, ("//packages.example/:_authToken={}", "//packages.example/:_authToken={}\n")),
    "PyPI": Kind(parts("py" "pi-AgEIcHlwaS5vcmc", (URL64, 150))),
    "RubyGems": Kind(parts("ruby" "gems_", (HEX, 48))),
    "crates.io": Kind(parts("ci" "o", (AN, 32))),
    "Docker Hub": Kind(parts("dc" "kr_pat_", (URL64, 27))),
    "NuGet": Kind(parts("oy" "2", (LOWER + DIGITS, 43))),
    "JFrog": Kind(parts("AK" "Cp", (AN, 69))),
    "CircleCI": Kind(parts("CC" "IPAT_", (AN, 22), "_", (HEX, 40))),
    "CircleCI, older": Kind(HEX40, named("CIRCLECI_TOKEN", "CIRCLE_TOKEN")),
    "Buildkite": Kind(parts("bk" "ua_", (HEX, 40))),
    "Travis": Kind(parts((AN, 22)), named("TRAVIS_TOKEN", "TRAVIS_API_TOKEN")),
    "Codecov": Kind(uuid, named("CODECOV_TOKEN")),
    "SonarQube": Kind(parts("sq" "p_", (HEX, 40))),
    "SonarQube, older": Kind(HEX40, named("SONAR_TOKEN")),
    "Snyk": Kind(uuid, named("SNYK_TOKEN")),
    "Sourcegraph": Kind(parts("sg" "p_", (HEX, 16), "_", (HEX, 40))),
    "Postman": Kind(parts("PM" "AK-", (HEX, 24), "-", (HEX, 34))),
    "LaunchDarkly": Kind(then("ap" "i-", uuid)),
    "ReadMe": Kind(parts("rd" "me_", (LOWER + DIGITS, 70))),
    "Octopus Deploy": Kind(parts("AP" "I-", (UPPER + DIGITS, 26))),
    "Azure DevOps": Kind(parts((LOWER + "234567", 52)), named("AZURE_DEVOPS_EXT_PAT", "SYSTEM_ACCESS_TOKEN")),
    # clouds and hosting
    "AWS id": Kind(parts("AK" "IA", (BASE32, 16))),
    "AWS id, temporary": Kind(parts("AS" "IA", (BASE32, 16))),
    "AWS secret": Kind(parts((B64, 40)), named("AWS_SECRET_ACCESS_KEY", "SECRET_ACCESS_KEY")),
    "AWS secret, bare": Kind(parts((B64, 40)), (*BARE, "aws: {}\n", "{}", "\x1b[32m{}\x1b[0m", "A=1\n{}\nB=2")),
    "AWS secret, near its id": Kind(
        parts((B64, 40)),
        (
            ("id AK" "IA2E0A8F3B244C9986 and {} are for staging"),
            ("AK" "IAQYLPMN5HFIQR7XYA,{}\n"),
            ("| AK" "IAQYLPMN5HFIQR7XYA | {} |"),
        ),
    ),
    "AWS session": Kind(parts((B64, 300), "=="), named("AWS_SESSION_TOKEN")),
    "AWS Bedrock": Kind(parts("AB" "SK", (B64, 128), "=")),
    "Azure storage": Kind(
        parts((B64, 86), "=="),
        (
            "DefaultEndpointsProtocol=https;AccountName=shop;AccountKey={};EndpointSuffix=core.windows.net",
            "AZURE_STORAGE_KEY={}\n",
            '{{"accountKey": "{}"}}',
        ),
    ),
    "Azure Service Bus": Kind(
        parts((B64, 43), "="),
        ("Endpoint=sb://x.servicebus.windows.net/;SharedAccessKeyName=Root;SharedAccessKey={};EntityPath=q",),
    ),
    "Azure SAS": Kind(
        lambda random: some(random, AN, 41) + "%2B" + some(random, AN, 5) + "%3D",
        (
            "https://shop.blob.core.windows.net/c/f?sv=2022-11-02&st=2024-01-01&se=2025-01-01&sr=b&sp=r&sig={}",
            "?sv=2020-08-04&ss=b&srt=sco&sp=rwd&se=2025-01-01T00:00:00Z&spr=https&sig={}&x=1",
        ),
    ),
    "Azure AD": Kind(parts((AN, 3), (DIGITS, 1), "Q" "~", (AN + "_~.-", 33), (AN, 1))),
    "Alibaba": Kind(parts("LT" "AI", (AN, 20))),
    "Tencent": Kind(parts("AK" "ID", (AN, 32))),
    "Yandex": Kind(parts("AQ" "VN", (URL64, 36))),
    "Yandex, AWS": Kind(parts("YC" "A", (URL64, 36), (AN, 1))),
    "DigitalOcean": Kind(parts("do" "p_v1_", (HEX, 64))),
    "Heroku": Kind(uuid, named("HEROKU_API_KEY")),
    "Heroku, new": Kind(parts("HR" "KU-AA", (URL64, 58))),
    "Linode": Kind(HEX64, named("LINODE_TOKEN", "LINODE_CLI_TOKEN")),
    "Hetzner": Kind(parts((AN, 64)), named("HCLOUD_TOKEN")),
    "Cloudflare": Kind(parts((URL64, 39), (AN, 1)), named("CLOUDFLARE_API_TOKEN", "CF_API_TOKEN")),
    "Cloudflare, global": Kind(parts((HEX, 37)), (*named("CLOUDFLARE_API_KEY"), "curl -H 'X-Auth-Key: {}' host")),
    "Cloudflare, origin": Kind(parts("v1" ".0-", (HEX, 24), "-", (HEX, 146))),
    "Vercel": Kind(parts((AN, 24)), named("VERCEL_TOKEN")),
    "Hugging Face, small letters": Kind(parts("h" "f_", (LOWER, 34))),
    "Clojars": Kind(parts("CLO" "JARS_", (LOWER + DIGITS, 60))),
    "SendGrid, without its second dot": Kind(parts("S" "G.", (LOWER + DIGITS + "=_-", 65), (AN, 1))),
    "Twilio, any case": Kind(parts("S" "K", (DIGITS + "abcdefABCDEF", 32))),
    "Square, short": Kind(parts("EA" "AA", (URL64, 21), (AN, 1))),
    "Slack, workspace": Kind(parts("xo" "xa-", (AN, 8))),
    "Slack webhook, workflow": Kind(parts((AN, 11), "/", (AN, 2), "/", (AN, 30)), (("https://hooks.sl" "ack.com/workflows/{}"), ("POST hooks.sl" "ack.com/triggers/{}\n"))),
    "Duffel, with =": Kind(parts("duf" "fel_test_2=", (LOWER + DIGITS + "_-=", 40), (AN, 1))),
    "Facebook, escaped": Kind(parts((DIGITS, 16), "%", (LOWER + DIGITS, 32))),
    "Sonar, login": Kind(parts((LOWER + DIGITS, 20), "_", (LOWER + DIGITS, 19)), ("SONAR_LOGIN={}\n", "sonar.login: {}\n", 'sonarLogin := "{}"')),
    "Sidekiq": Kind(parts((HEX, 8), ":", (HEX, 8)), ("export BUNDLE_GEMS__CONTRIBSYS__COM={}", "BUNDLE_ENTERPRISE__CONTRIBSYS__COM: {}\n")),
    "Dropbox, short": Kind(parts((LOWER + DIGITS, 14), (DIGITS, 1)), named("DROPBOX_TOKEN")),
    "a value that begins with =": Kind(parts("=", (LOWER + DIGITS + "_-", 30), (AN, 1)), ("BITBUCKET_SECRET={}\n", "docker run -e NETLIFY_TOKEN={} image")),
    "wallet": Kind(parts("0x", (HEX, 64)), ('const wallet = new Wallet("{}");', "DEPLOYER_PK={}\n", 'accounts: ["{}"]', "the private key of the wallet is {}\n")),
    "Netlify": Kind(parts("nf" "p_", (AN, 36))),
    "Render": Kind(parts("rn" "d_", (AN, 32))),
    "Fly": Kind(parts("fo" "1_", (URL64, 43))),
    "Fly, macaroon": Kind(parts("fm" "2_", (B64, 240), "==")),
    "Railway": Kind(uuid, named("RAILWAY_TOKEN")),
    "Scalingo": Kind(parts("tk" "-us-", (URL64, 48))),
    "Supabase": Kind(parts("sb" "p_", (HEX, 40))),
    "Supabase, secret": Kind(parts("sb" "_secret_", (URL64, 22), "_", (AN, 8))),
    "PlanetScale": Kind(parts("ps" "cale_tkn_", (URL64, 43))),
    "PlanetScale, password": Kind(parts("ps" "cale_pw_", (URL64, 43))),
    "Neon": Kind(parts("na" "pi_", (LOWER + DIGITS, 64))),
    "Upstash": Kind(parts("AX", (AN, 40), "=="), named("UPSTASH_REDIS_REST_TOKEN")),
    "MongoDB Atlas": Kind(uuid, named("MONGODB_ATLAS_PRIVATE_KEY", "ATLAS_PRIVATE_KEY")),
    "Databricks": Kind(parts("da" "pi", (HEX, 32))),
    "Elastic": Kind(lambda random: b64(some(random, URL64, 20) + ":" + some(random, URL64, 22)), ("Authorization: ApiKey {}\n", *named("ELASTIC_API_KEY"))),
    "Tailscale": Kind(parts("ts" "key-auth-", (AN, 12), "CNTRL-", (AN, 32))),
    "ngrok": Kind(parts("2", (AN, 26), "_", (AN, 21))),
    "Pulumi": Kind(parts("pu" "l-", (HEX, 40))),
    "Prefect": Kind(parts("pn" "u_", (AN, 36))),
    "Terraform Cloud": Kind(parts((AN, 14), ".atlas" "v1.", (URL64, 67))),
    # secret managers
    "Vault": Kind(parts("hv" "s.", (URL64, 95))),
    "Vault, batch": Kind(parts("hv" "b.", (URL64, 140))),
    "Vault, older": Kind(parts("s" ".", (AN, 24))),
    "Doppler": Kind(parts("dp" ".pt.", (AN, 43))),
    "Doppler, service": Kind(parts("dp" ".st.dev.", (AN, 43))),
    "1Password, service": Kind(parts("op" "s_eyJ", (AN, 300), "==")),
    "1Password, secret key": Kind(parts("A3" "-", (UPPER + DIGITS, 6), "-", (UPPER + DIGITS, 6), *(("-", (UPPER + DIGITS, 5)) * 4))),
    "Bitwarden": Kind(lambda random: f"0.{uuid(random)}.{some(random, AN, 30)}:{some(random, B64, 22)}=="),
    "Infisical": Kind(parts("st" ".", (HEX, 24), ".", (HEX, 32), ".", (HEX, 32))),
    # observability
    "Grafana": Kind(parts("gl" "sa_", (AN, 32), "_", (HEX, 8))),
    "Grafana Cloud": Kind(parts("gl" "c_", (B64, 120), "=")),
    "New Relic": Kind(parts("NR" "AK-", (UPPER + DIGITS, 27))),
    "New Relic, licence": Kind(parts((HEX, 36), "NR" "AL")),
    "Dynatrace": Kind(parts("dt" "0c01.", (UPPER + DIGITS, 24), ".", (UPPER + DIGITS, 64))),
    "Sentry": Kind(parts("sn" "tryu_", (HEX, 64))),
    "Sentry, organization": Kind(lambda random: "sn" "trys_" + b64(json.dumps({"iat": random.random(), "region_url": "https://us.sentry.io"})) + "_" + some(random, B64, 43)),
    "Datadog": Kind(HEX32, (*named("DATADOG_API_KEY", "DD_API_KEY"), "the Datadog key is {}\n", "datadog: {}\n", "curl -H 'dd-api-key: {}' host")),
    "Datadog, application": Kind(HEX40, named("DD_APPLICATION_KEY", "DD_APP_KEY")),
    "PagerDuty": Kind(parts("u+", (URL64, 17), (AN, 1)), (*named("PAGERDUTY_TOKEN"), "Authorization: Token token={}\n")),
    "Splunk": Kind(uuid, (*named("SPLUNK_HEC_TOKEN"), "Authorization: Splunk {}\n")),
    "Sumo Logic": Kind(parts((AN, 64)), named("SUMOLOGIC_ACCESS_KEY")),
    "Honeycomb": Kind(parts("hc" "aik_", (LOWER + DIGITS, 58))),
    "PostHog": Kind(parts("ph" "x_", (AN, 43))),
    # work
    "Linear": Kind(parts("li" "n_api_", (AN, 40))),
    "Notion": Kind(parts("nt" "n_", (DIGITS, 11), (AN, 35))),
    "Notion, older": Kind(parts("secr" "et_", (AN, 43))),
    "Airtable": Kind(parts("pa" "t", (AN, 14), ".", (HEX, 64))),
    "Airtable, older": Kind(parts("ke" "y", (AN, 14)), named("AIRTABLE_API_KEY")),
    "Asana": Kind(parts("2/", (DIGITS, 16), "/", (DIGITS, 16), ":", (HEX, 32))),
    "Figma": Kind(parts("fi" "gd_", (URL64, 40))),
    "Trello": Kind(HEX64, named("TRELLO_TOKEN", "TRELLO_API_TOKEN")),
    "ClickUp": Kind(parts("p" "k_", (DIGITS, 8), "_", (UPPER + DIGITS, 32))),
    "Typeform": Kind(parts("tf" "p_", (URL64, 59))),
    "HubSpot": Kind(then("pa" "t-na1-", uuid)),
    "Intercom": Kind(lambda random: "dG9rO" + some(random, B64, 55) + "="),
    "Zendesk": Kind(parts((AN, 40)), named("ZENDESK_API_TOKEN")),
    "Okta": Kind(parts("00", (URL64, 39), (AN, 1)), (*named("OKTA_API_TOKEN"), "Authorization: SSWS {}\n")),
    "Auth0": Kind(parts((URL64, 63), (AN, 1)), named("AUTH0_CLIENT_SECRET")),
    "Algolia": Kind(HEX32, (*named("ALGOLIA_ADMIN_KEY", "ALGOLIA_API_KEY"), "curl -H 'X-Algolia-API-Key: {}' host")),
    "Contentful": Kind(parts("CF" "PAT-", (URL64, 43))),
    "Dropbox": Kind(parts("sl" ".", (URL64, 135))),
    "Box": Kind(parts((AN, 32)), named("BOX_CLIENT_SECRET")),
    "Facebook": Kind(parts("EA" "AC", (AN, 170))),
    "Facebook, application": Kind(parts((DIGITS, 16), "|", (URL64, 26), (AN, 1))),
    "Twitter bearer": Kind(parts("A" * 22, (AN, 30), "%3D", (AN, 55))),
    "Twitter secret": Kind(parts((AN, 50)), named("TWITTER_API_SECRET", "TWITTER_CONSUMER_SECRET")),
    "LinkedIn": Kind(parts((AN, 16)), named("LINKEDIN_CLIENT_SECRET")),
    "Adobe": Kind(parts("p8" "e-", (URL64, 32))),
    "Frame.io": Kind(parts("fi" "o-u-", (URL64, 64))),
    "Mattermost": Kind(parts((LOWER + DIGITS, 26)), named("MATTERMOST_TOKEN")),
    "RapidAPI": Kind(parts((HEX, 10), "ms" "h", (HEX, 15), "p1", (HEX, 6), "js" "n", (HEX, 12))),
    "Firebase": Kind(parts("AAAA", (URL64, 7), ":APA" "91b", (URL64, 134))),
    "Mapbox": Kind(lambda random: "s" "k." + url64({"u": some(random, LOWER, 8), "a": some(random, LOWER + DIGITS, 20)}) + "." + some(random, URL64, 22)),
    # messages
    "Slack, bot": Kind(parts("xo" "xb-", (DIGITS, 12), "-", (DIGITS, 13), "-", (AN, 24))),
    "Slack, user": Kind(parts("xo" "xp-", (DIGITS, 12), "-", (DIGITS, 12), "-", (DIGITS, 12), "-", (HEX, 32))),
    "Slack, app": Kind(parts("xa" "pp-1-A", (UPPER + DIGITS, 10), "-", (DIGITS, 13), "-", (HEX, 64))),
    "Slack, configuration": Kind(parts("xo" "xe.xo" "xp-1-", (AN, 164))),
    "Slack, webhook": Kind(
        parts("T", (UPPER + DIGITS, 10), "/B", (UPPER + DIGITS, 10), "/", (AN, 24)),
        ("curl https://hooks.slack.com/services/{}", '{{"url": "https://hooks.slack.com/services/{}"}}'),
    ),
    "Discord": Kind(discord),
    "Discord, webhook": Kind(
        parts((DIGITS, 18), "/", (URL64, 68)),
        ("https://discord.com/api/webhooks/{}", "url: https://discordapp.com/api/webhooks/{}\n"),
    ),
    "Telegram": Kind(parts((DIGITS, 10), ":AA", (URL64, 32), (AN, 1)), (*BARE, "https://api.telegram.org/bot{}/getMe")),
    "Teams webhook": Kind(
        lambda random: f"{uuid(random)}@{uuid(random)}/IncomingWebhook/{some(random, HEX, 32)}/{uuid(random)}",
        ("https://shop.webhook.office.com/webhookb2/{}",),
    ),
    "SendGrid": Kind(parts("S" "G.", (URL64, 22), ".", (URL64, 43))),
    "Mailgun": Kind(parts("ke" "y-", (HEX, 32))),
    "Mailgun, new": Kind(parts((HEX, 32), "-", (HEX, 8), "-", (HEX, 8))),
    "Mailchimp": Kind(parts((HEX, 32), "-us", (DIGITS, 2))),
    "Brevo": Kind(parts("xk" "eysib-", (HEX, 64), "-", (AN, 16))),
    "Resend": Kind(parts("r" "e_", (AN, 8), "_", (AN, 24))),
    "Postmark": Kind(uuid, (*named("POSTMARK_SERVER_TOKEN"), "curl -H 'X-Postmark-Server-Token: {}' host")),
    "Twilio": Kind(parts("S" "K", (HEX, 32))),
    "Twilio, account": Kind(parts("A" "C", (HEX, 32))),
    "Twilio, auth": Kind(HEX32, named("TWILIO_AUTH_TOKEN")),
    # money and shops
    "Stripe": Kind(parts("sk" "_live_", (AN, 24))),
    "Stripe, test": Kind(parts("sk" "_test_", (AN, 99))),
    "Stripe, restricted": Kind(parts("rk" "_live_", (AN, 24))),
    "Stripe, webhook": Kind(parts("wh" "sec_", (AN, 32))),
    "Square": Kind(parts("sq" "0atp-", (URL64, 22))),
    "Square, new": Kind(parts("EA" "AA", (URL64, 60))),
    "Shopify": Kind(parts("sh" "pat_", (HEX, 32))),
    "Shopify, secret": Kind(parts("sh" "pss_", (HEX, 32))),
    "Braintree": Kind(parts("access_" "token$production$", (LOWER + DIGITS, 16), "$", (HEX, 32))),
    "PayPal": Kind(parts("E", (URL64, 78), (AN, 1)), named("PAYPAL_CLIENT_SECRET")),
    "Plaid": Kind(then("acc" "ess-production-", uuid)),
    "Plaid, secret": Kind(parts((HEX, 30)), named("PLAID_SECRET")),
    "Razorpay": Kind(parts((AN, 24)), named("RAZORPAY_KEY_SECRET")),
    "Coinbase": Kind(parts((AN, 64)), named("COINBASE_API_SECRET")),
    "Binance": Kind(parts((AN, 64)), named("BINANCE_API_KEY", "BINANCE_SECRET_KEY")),
    "Shippo": Kind(parts("sh" "ippo_live_", (HEX, 40))),
    "EasyPost": Kind(parts("EZ" "AK", (AN, 54))),
    "Lob": Kind(parts("li" "ve_", (HEX, 35))),
    "Duffel": Kind(parts("du" "ffel_live_", (URL64, 43))),
    "Flutterwave": Kind(parts("FL" "WSECK-", (HEX, 32), "-X")),
    # keys, hashes, phrases
    "JWT": Kind(jwt),
    "RSA key": Kind(block("RSA PRIVATE" " KEY"), ("{}", "cat id_rsa\n{}\n")),
    "PKCS 8 key": Kind(block("PRIVATE" " KEY"), ("{}", '"""{}"""')),
    "EC key": Kind(block("EC PRIVATE" " KEY"), ("{}",)),
    "encrypted key": Kind(block("ENCRYPTED PRIVATE" " KEY"), ("{}",)),
    "OpenSSH key": Kind(block("OPENSSH PRIVATE" " KEY"), ("{}", "key: |\n{}\n")),
    "PGP key": Kind(block("PGP PRIVATE" " KEY BLOCK"), ("{}",)),
    "service account": Kind(block("PRIVATE" " KEY", end="\\n"), ('{{"type": "service_account", "private_key": "{}\\n"}}', "KEY='{}'")),
    "PuTTY key": Kind(putty, ("Public-Lines: 2\nAAAA\nBBBB\nPrivate-Lines: 14\n{}\nPrivate-MAC: 0123456789012345678901234567890123456789",)),
    "age key": Kind(parts("AG" "E-SECRET-KEY-1", ("QPZRY9X8GF2TVDW0S3JN54KHCE6MUA7L", 58))),
    "WireGuard key": Kind(parts((B64, 43), "="), ("[Interface]\nPrivateKey = {}\nAddress = 10.0.0.2/32\n", "PresharedKey = {}\n")),
    "kubeconfig": Kind(lambda random: b64("-----BEGIN RSA PRIVATE" " KEY-----\n" + some(random, B64, 400)), ("    client-key-data: {}\n", '{{"client-key-data": "{}"}}')),
    "Ethereum key": Kind(then("0x", HEX64), (*named("PRIVATE_KEY", "ETH_PRIVATE_KEY"), "my private key: {}\n", "the private key is {}\n")),
    "Bitcoin key": Kind(parts("xp" "rv9s21ZrQH", (BASE58, 101))),
    "seed phrase, 12": Kind(words(12), ("{}", "seed phrase: {}\n", 'MNEMONIC="{}"', '{{"mnemonic":"{}"}}', "Keep this:\n\n{}\n\nand never show it.")),
    "seed phrase, 15": Kind(words(15), ("{}", 'MNEMONIC="{}"')),
    "seed phrase, 24": Kind(words(24), ("{}", "seed phrase: {}\n", 'MNEMONIC="{}"')),
    "bcrypt": Kind(parts("$2" "b$12$", (AN + "./", 53)), ("admin:{}", "'{}'", '"{}"', "hash {}\n")),
    "sha512-crypt": Kind(parts("$" "6$", (AN + "./", 16), "$", (AN + "./", 86)), ("root:{}:19000:0:99999:7:::", "'{}'")),
    "yescrypt": Kind(parts("$" "y$j9T$", (AN + "./", 22), "$", (AN + "./", 43)), ("root:{}:19000:0:99999:7:::", "'{}'")),
    "argon2": Kind(parts("$" "argon2id$v=19$m=65536,t=3,p=4$", (B64, 22), "$", (B64, 43)), ("'{}'", "hash: {}\n")),
    "otpauth": Kind(parts((BASE32, 32)), ("otpauth://totp/Shop:me@host?secret={}&issuer=Shop", "otpauth://totp/x?issuer=y&secret={}")),
    # places
    "bearer": Kind(parts((AN, 40)), ("Authorization: Bearer {}\n", "curl -H 'authorization: bearer {}' host", '{{"Authorization": "Bearer {}"}}')),
    "basic": Kind(lambda random: b64(f"admin:{strong(random)}"), ("Authorization: Basic {}\n", "curl -H 'Authorization: Basic {}' host")),
    "Docker configuration": Kind(lambda random: b64(f"me:{strong(random)}"), ('{{"auths": {{"host": {{"auth": "{}"}}}}}}',)),
    "curl -u": Kind(parts((AN, 14)), ("curl -u admin:{} https://host/x", "curl -s -u 'admin:{}' host", "curl --user admin:{} host")),
    "mysql -p": Kind(parts((AN, 12)), ("mysql -u root -p{} shop", "mysqldump -uroot -p'{}' shop > x.sql")),
    "sshpass": Kind(weak, ("sshpass -p {} ssh me@host", "sshpass -p '{}' scp x me@host:")),
    "docker login": Kind(parts((AN, 16)), ("docker login -u me -p {} host", "docker login --username me --password {} host")),
    "redis-cli": Kind(parts((AN, 16)), ("redis-cli -h cache -a {} ping",)),
    "PGPASSWORD": Kind(weak, ("PGPASSWORD={} psql -h db", "export PGPASSWORD='{}'")),
    "netrc": Kind(weak, ("machine host login me password {}\n", "machine host\n  login me\n  password {}\n")),
    "pgpass": Kind(parts((AN, 14)), ("db.internal:5432:shop:app:{}\n", "*:5432:*:postgres:{}\n", "localhost:*:shop:app:{}\n")),
    "SQL": Kind(parts((AN, 12)), ("CREATE USER app WITH PASSWORD '{}';", "CREATE USER 'app'@'%' IDENTIFIED BY '{}';", "ALTER ROLE app PASSWORD '{}';")),
    "cookie": Kind(parts((AN, 32)), ("Cookie: theme=dark; sessionid={}; lang=en\n", "curl -H 'Cookie: session={}' host", "curl --cookie 'sid={}' host")),
    "set-cookie": Kind(parts((URL64, 43)), ("Set-Cookie: session={}; Path=/; HttpOnly\n", "< set-cookie: sid={}; Max-Age=3600\n")),
    "database URL": Kind(parts((AN, 12)), ("postgres://app:{}@db.internal:5432/shop", "DATABASE_URL=mysql://root:{}@host/x", "mongodb+srv://me:{}@cluster0.mongodb.net/x", "redis://:{}@cache:6379/0", "amqp://guest:{}@mq")),
    "URL with a token": Kind(parts((AN, 40)), ("git clone https://{}@host/me/repo.git", "https://oauth2:{}@gitlab.example/x.git")),
    "query": Kind(parts((AN, 32)), ("https://host/search?access_token={}&page=2", "https://host/x?a=1&key={}", "https://host/x?api_key={}", "https://host/?token={}")),
    "S3 URL": Kind(HEX64, ("https://b.s3.amazonaws.com/k?X-Amz-Algorithm=AWS4-HMAC-SHA256&X-Amz-Date=20240101T000000Z&X-Amz-Expires=3600&X-Amz-SignedHeaders=host&X-Amz-Signature={}",)),
    "password, weak": Kind(weak, ("PASSWORD={}\n", "export DB_PASSWORD={}\n", 'MYSQL_ROOT_PASSWORD="{}"', '{{"password": "{}"}}', "password: {}\n", 'password = "{}"\n', "tool --password {} x")),
    "password, strong": Kind(strong, ("DB_PASSWORD={}\n", 'password="{}"', '{{"dbPassword":"{}"}}', "  password: {}\n", "Server=x;Database=y;User Id=sa;Password={};Encrypt=True")),
    "Django": Kind(parts((LOWER + DIGITS + "!@#%^&*(-_=+)", 50)), ("SECRET_KEY = 'django-insecure-{}'", "SECRET_KEY = '{}'")),
    "password of a person": Kind(chosen, ('password = "{}"\n', "password: {}\n", "passwd={}\n", "tool --password={} x", "-o user=me;password={}", '{{"dbPassword": "{}"}}', "cmdkey /add:host /user:me /pass:{}")),
    "argument of a command": Kind(chosen, ("htpasswd -b /etc/users me {}", "rabbitmqctl add_user me {}", "net user me {} /add", 'ConvertTo-SecureString "{}" -AsPlainText -Force', "requirepass {}\n", "nmcli device wifi connect home password {}", "sqlplus scott/{}@db")),
    "password on standard input": Kind(chosen, ("echo '{}' | sudo -S ls", "echo {} | sudo -S apt update", "echo 'root:{}' | chpasswd", "echo root:{} | sudo chpasswd")),
    "wireless key": Kind(chosen, ('psk="{}"\n', "wpa_psk={}\n")),
    "authorization scheme": Kind(parts((AN, 32)), ('{{"Authorization": "Token {}"}}', "headers={{'Authorization': 'ApiKey {}'}}", '"Authorization": "Bot {}"', "Authorization: GenieKey {}\n")),
    "setter": Kind(parts((AN, 32)), ('client.setApiKey("{}")', 'NewClient(WithAPIKey("{}"))', "set_token('{}')")),
    "reference to a text": Kind(parts((AN, 32)), ('let token: &str = "{}";', "const API_KEY: &'static str = \"{}\";")),
    "default of a variable": Kind(parts((AN, 32)), ('API_KEY="${{API_KEY:-{}}}"', "export DB_PASSWORD=${{DB_PASSWORD:={}}}")),
    "table": Kind(parts((AN, 32)), ("| API key | `{}` |\n", "| **access token** | {} |\n")),
    "curl -b": Kind(parts((AN, 32)), ('curl -b "session={}" host', "curl -s -b 'auth={}' host")),
    "Gmail": Kind(parts((LOWER, 4), " ", (LOWER, 4), " ", (LOWER, 4), " ", (LOWER, 4)), ('SMTP_PASSWORD="{}"', "app password: {}\n")),
    "Stripe, organization": Kind(parts("sk_org_live_", (AN, 60))),
    "Modal": Kind(parts("as-", (AN, 22))),
    "Weights & Biases, new": Kind(parts("wandb_v1_", (URL64, 77))),
    "Buildkite, cluster": Kind(parts("bkct_", (URL64, 80))),
    "New Relic, insert": Kind(parts("NRII-", (URL64, 32))),
    "Polar": Kind(parts("polar_oat_", (URL64, 43))),
    "MailerSend": Kind(parts("mlsn.", (HEX, 64))),
    "Convex": Kind(parts("prod:happy-animal-123|", (B64, 80))),
    "Statsig": Kind(parts("secret-", (AN, 43))),
    "Liveblocks": Kind(parts("sk_dev_", (URL64, 64))),
    "Knock": Kind(parts("sk_test_", (URL64, 43))),
    "Cal.com": Kind(parts("cal_live_", (HEX, 32))),
    "Anyscale": Kind(parts("esecret_", (LOWER + DIGITS, 26))),
    "key with signs": Kind(
        parts((AN, 1), "(", (AN + "!@#%^&*()-_", 60)),
        ("WORDPRESS_AUTH_KEY={}\n", "docker run -e WORDPRESS_AUTH_KEY={} image", "WORDPRESS_AUTH_KEY: {}\n"),
    ),
    "password in SQL": Kind(
        parts((LOWER, 6), "!", (DIGITS, 3), (LOWER, 2)),
        (
            "create user x identified by '{}';",
            "CREATE USER 'a'@'%' IDENTIFIED WITH mysql_native_password BY '{}';",
            "SET PASSWORD FOR 'root'@'localhost' = PASSWORD('{}');",
        ),
    ),
    "password in other places": Kind(
        parts((LOWER, 6), "!", (DIGITS, 3), (LOWER, 2)),
        (
            "jdbc:oracle:thin:scott/{}@host:1521:db",
            "WIFI:S:home;T:WPA;P:{};;",
            "echo {} | docker login -u me --password-stdin",
            'variable "db_password" {{\n  type = string\n  default = "{}"\n}}',
        ),
    ),
}  # fmt: skip
