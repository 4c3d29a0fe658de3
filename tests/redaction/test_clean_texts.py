"""Texts that only look random are not redacted: hashes, ids, lock files, images, model signatures."""

from __future__ import annotations

import json
import string
from random import Random

import pytest

from branchline.redaction import redact, redact_bytes
from secret_kinds import AN, B64, DIGITS, HEX, LOWER, UPPER, URL64, some, uuid

DRAWS = 100

CLEAN = {
    "commit": lambda r: f"commit {some(r, HEX, 40)}\nAuthor: Me <me@host.example>",
    "short commits": lambda r: f"{some(r, HEX, 7)}..{some(r, HEX, 7)}  main -> origin/main",
    "tree": lambda r: f"100644 blob {some(r, HEX, 40)}\tsrc/tokens/key.py",
    "index": lambda r: f"index {some(r, HEX, 10)}..{some(r, HEX, 10)} 100644\n--- a/secret.py\n+++ b/secret.py",
    "uuid": lambda r: f"session {uuid(r)} resumed",
    "uuid under a name": lambda r: json.dumps({"uuid": uuid(r), "parentUuid": uuid(r), "sessionId": uuid(r)}),
    "request": lambda r: json.dumps({"requestId": "req_011C" + some(r, AN, 20)}),
    "message": lambda r: json.dumps({"id": "msg_01" + some(r, AN, 22), "type": "message"}),
    "tool use": lambda r: json.dumps({"tool_use_id": "toolu_01" + some(r, AN, 22)}),
    "call": lambda r: json.dumps({"call_id": "call_" + some(r, AN, 24), "name": "shell"}),
    "response": lambda r: json.dumps({"id": "resp_" + some(r, HEX, 48), "item": "rs_" + some(r, HEX, 48)}),
    "signature of thinking": lambda r: json.dumps({"thinking": "Hm.", "signature": some(r, B64, 700) + "=="}),
    "thought signature": lambda r: json.dumps({"thoughtSignature": some(r, B64, 500) + "="}),
    "encrypted reasoning": lambda r: json.dumps({"encrypted_content": "gAAAAAB" + some(r, URL64, 900) + "=="}),
    "picture": lambda r: f"data:image/png;base64,iVBORw0KGgo{some(r, B64, 3000)}==",
    "npm lock": lambda r: f'"resolved": "https://packages.example/x/-/x-1.2.3.tgz",\n"integrity": "sha512-{some(r, B64, 86)}=="',
    "yarn lock": lambda r: f'  resolved "https://packages.example/x-1.2.3.tgz#{some(r, HEX, 40)}"',
    "cargo lock": lambda r: f'name = "serde"\nchecksum = "{some(r, HEX, 64)}"',
    "go sum": lambda r: f"golang.org/x/mod v0.14.0 h1:{some(r, B64, 43)}=",
    "pip hash": lambda r: f"click==8.1.7 \\\n    --hash=sha256:{some(r, HEX, 64)}",
    "image digest": lambda r: f"FROM python:3.12@sha256:{some(r, HEX, 64)}",
    "md5sum": lambda r: f"{some(r, HEX, 32)}  dist/token-1.0.tar.gz",
    "etag": lambda r: f'ETag: "{some(r, HEX, 32)}"',
    "trace": lambda r: f"traceparent: 00-{some(r, HEX, 32)}-{some(r, HEX, 16)}-01",
    "ulid": lambda r: f"run 01{some(r, UPPER + DIGITS, 24)} finished",
    "public key": lambda r: f"ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI{some(r, B64, 43)} me@host",
    "certificate": lambda r: "-----BEGIN CERTIFICATE-----\n" + "\n".join(some(r, B64, 64) for _ in range(12)) + "\n-----END CERTIFICATE-----",
    "transaction": lambda r: f"tx 0x{some(r, HEX, 64)} mined, from 0x{some(r, HEX, 40)}",
    "random ids of the length of a key": lambda r: json.dumps({"requestId": some(r, AN, 40), "etag": some(r, AN, 40), "sha1": some(r, AN, 40)}),
    "cache key": lambda r: f'cache_key = "{some(r, HEX, 32)}"; partition_key: {some(r, AN, 20)}',
    "page token": lambda r: json.dumps({"nextPageToken": some(r, URL64, 40), "page_token": some(r, URL64, 40)}),
    "token counts": lambda r: f"input_tokens: {r.randrange(10**6)}, max_tokens={r.randrange(10**5)}, 12k tokens",
    "hash in a file name": lambda r: f"dist/assets/index-{some(r, AN, 8)}.js  {some(r, HEX, 20)}.chunk.css",
    "nix": lambda r: f"/nix/store/{some(r, LOWER + DIGITS, 32)}-python3-3.12.1/bin/python3",
    "escape of a terminal": lambda r: f"\x1b[32m{some(r, HEX, 40)}\x1b[0m fixed the token parser",
    "test output": lambda r: f"tests/test_auth.py::test_password_is_hashed PASSED [{r.randrange(100)}%]",
}  # fmt: skip

WRITTEN = [
    "The password must be at least 12 characters long, with 1 digit.",
    "password: str\ntoken: Optional[str] = None\nsecret: SecretStr = Field(...)",
    "def login(user: str, password: str = '') -> Token: ...",
    'parser.add_argument("--token", help="the token to use")',
    "export PASSWORD=$(cat /run/secrets/db_password)",
    "PASSWORD=${DB_PASSWORD:-}",
    "password=$1 token=$2",
    "const token = await getToken(userId2);",
    "if (password !== confirmPassword1) return;",
    'expect(screen.getByLabelText("Password")).toBeInTheDocument();',
    '<input type="password" name="password" placeholder="Password" />',
    "mkdir -p build && cp -a src dist && sort -u names.txt",
    "docker run -p 8080:80 -u 1000:1000 -e TZ=UTC image",
    "ssh -p 2222 me@host; grep -u x; psql -U app -p 5432",
    "curl -u $USER:$TOKEN https://host; curl -u user:password host",
    "mysql -u root -p shop",
    "the key is stored in the keyring, and the secret is rotated daily",
    "Cookie: consent=yes; theme=dark\nSet-Cookie: lang=en; Path=/; Max-Age=3600",
    "src/app.ts:1234:56: error TS2345: Argument of type",
    "12:34:56:789 localhost:5432 connected",
    "about people order above board cause dance",
    "This is quick: open the door, turn left, walk past the garden wall and wait there until they come home again.",
    "$ kubectl get secret my-app-token-x7k2p -o yaml",
    "Bearer authentication and basic requirements",
    "sk-learn-contrib-estimators and task-runner-2024-edition-final",
    "OPENAI_API_KEY=sk-... ANTHROPIC_API_KEY=your-key-here",
    "key = keys[index]; token = tokens.pop(0); auth = Auth(key)",
    "Authorization: Bearer <token>, Authorization: Basic <credentials>",
    "AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY have to be set",
    '{"password": null, "token": "", "secret": false, "api_key": "string"}',
    "git add, 'ls', 'pwd', 'python3', 'npm run build2'",
    '{"key": "PGPASSWORD", "configurationId2": "icfg"}',
    "audited with journey/APIs/state/visual/test/fault/load",
    "passwords.txt, token_count=3, secretsmanager:GetSecretValue, keyof T",
    "error: pass -p to print, PASS: GOOD, verdict=pass",
    "--- PASS: TestPrepareTranscript_ErrorOnEmptySessionID (0.00s)",
    "        token = query_terms[0].strip()\n    source_key = seed_heads[0].logical_source_key\n",
    '"@scope/credentials": "workspace:^", "Authorization": "Bearer e2e-test-token"',
    "process.env.API_KEY ?? config.apiKeyV2 ?? options?.legacyApiKey",
]


@pytest.mark.parametrize("name", CLEAN)
def test_what_looks_random_is_left_alone(name) -> None:
    random = Random(name)
    for _ in range(DRAWS):
        text = CLEAN[name](random)
        line = json.dumps({"type": "message", "id": "0a1b2c3d", "message": {"content": text}}).encode()

        assert redact(text) == (text, [])
        assert redact_bytes(line) == (line, [])


@pytest.mark.parametrize("text", WRITTEN)
def test_what_people_write_about_secrets_is_left_alone(text) -> None:
    assert redact(text) == (text, [])
    assert redact(json.dumps({"text": text})) == (json.dumps({"text": text}), [])


def test_megabytes_of_identifiers_have_no_secrets() -> None:
    """Made-up source code: names of tokens and keys, with words as values."""
    random = Random(7)
    words = [
        "get",
        "user",
        "token",
        "key",
        "Secret",
        "auth",
        "config",
        "client",
        "id",
        "name",
        "live",
        "test",
        "api",
        "hash",
    ]
    lines = []
    for _ in range(20_000):
        name = random.choice(["_", "-", ""]).join(random.choices(words, k=random.randrange(1, 6)))
        value = random.choice(["", ".", "_"]).join(random.choices(words, k=random.randrange(1, 4)))
        lines.append(
            f"{name}{random.choice([' = ', ': ', '=', '(', ' -> '])}{value}{random.choice(string.digits + '();')}"
        )
    text = "\n".join(lines)

    assert redact(text).hits == []
