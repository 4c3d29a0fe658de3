"""Credentials are taken out of texts and lines, and nothing else is.

Every credential here is drawn from a seed when the tests run: none is real, none stands in this file.
"""

from __future__ import annotations

import base64
import json
import string
import time
import tracemalloc
from random import Random
from uuid import UUID

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from branchline.formats import PI, EntryLog
from branchline.redaction import RedactionCount, count_by_kind, redact, redact_bytes
from strategies import session_files
from support import CORPUS

RANDOM = Random(20261115)
LETTERS = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE64 = LETTERS + "+/"


def drawn(size: int, alphabet: str = LETTERS) -> str:
    """Some characters by lot, the last ones a digit and letters of both cases, as nearly all long ones have."""
    ends = "7qK" if alphabet in (LETTERS, BASE64) else ""
    return "".join(RANDOM.choices(alphabet, k=size - len(ends))) + ends


def block(kind: str, *, lines: int = 6, end: str = "\n") -> str:
    body = [drawn(64, BASE64) for _ in range(lines)] + [drawn(22, BASE64) + "=="]
    return end.join([f"-----BEGIN {kind}-----", *body, f"-----END {kind}-----"])


def basic(password: str) -> str:
    return base64.b64encode(f"admin:{password}".encode()).decode()


# What stands before a credential, the credential, what stands behind it; and what it is.
SAMPLES = {
    "OpenAI": ("", "sk-" + drawn(48), "", "openai-key"),
    "OpenAI, project": ("", "sk-" + "proj-" + drawn(70) + "_" + drawn(40), "", "openai-key"),
    "OpenAI, as others write it": ("", "sk-" + drawn(32, HEX), "", "openai-key"),
    "OpenRouter": ("", "sk-" + "or-v1-" + drawn(64, HEX), "", "openrouter-key"),
    "Anthropic": ("", "sk-" + "ant-api03-" + drawn(80) + "-" + drawn(12), "", "anthropic-key"),
    "Google": ("", "AI" + "za" + drawn(35), "", "google-key"),
    "Google, token": ("", "ya" + "29." + drawn(60), "", "google-token"),
    "xAI": ("", "xa" + "i-" + drawn(80), "", "xai-key"),
    "Groq": ("", "gs" + "k_" + drawn(52), "", "groq-key"),
    "Hugging Face": ("", "h" + "f_" + drawn(34, string.ascii_letters), "", "huggingface-token"),
    "Perplexity": ("", "ppl" + "x-" + drawn(48), "", "perplexity-key"),
    "GitHub, personal": ("", "gh" + "p_" + drawn(36), "", "github-token"),
    "GitHub, OAuth": ("", "gh" + "o_" + drawn(36), "", "github-token"),
    "GitHub, server": ("", "gh" + "s_" + drawn(36), "", "github-token"),
    "GitHub, fine-grained": ("", "github" + "_pat_" + drawn(22) + "_" + drawn(59), "", "github-token"),
    "GitLab": ("", "gl" + "pat-" + drawn(20), "", "gitlab-token"),
    "Slack": ("", "xo" + "xb-" + drawn(12, string.digits) + "-" + drawn(24), "", "slack-token"),
    "Slack, app": ("", "xa" + "pp-1-" + drawn(11) + "-" + drawn(40), "", "slack-token"),
    "AWS": ("", "AK" + "IA" + drawn(16, string.ascii_uppercase + "234567"), "", "aws-access-key-id"),
    "AWS, for a while": ("", "AS" + "IA" + drawn(16, string.ascii_uppercase + "234567"), "", "aws-access-key-id"),
    "AWS, secret": ("AWS_SECRET_ACCESS_KEY=", drawn(40, BASE64), "", "aws-secret-key"),
    "AWS, in a file": ("aws_secret_access_key = ", drawn(40, BASE64), "", "aws-secret-key"),
    "AWS, asked for": ("AWS Secret Access Key [None]: ", drawn(40, BASE64), "", "aws-secret-key"),
    "Stripe": ("", "sk_" + "live_" + drawn(24), "", "stripe-key"),
    "Stripe, restricted": ("", "rk_" + "test_" + drawn(24), "", "stripe-key"),
    "npm": ("", "np" + "m_" + drawn(36), "", "npm-token"),
    "npm, in a file": ("//packages.example/:_authToken=", drawn(36), "", "npm-token"),
    "PyPI": ("", "py" + "pi-AgEIcHlwaS5vcmc" + drawn(90), "", "pypi-token"),
    "JWT": ("", "ey" + "J" + drawn(33) + ".ey" + "J" + drawn(70) + "." + drawn(43), "", "jwt"),
    "private key": ("", block("RSA PRIVATE" + " KEY"), "", "private-key"),
    "private key, OpenSSH": ("", block("OPENSSH PRIVATE" + " KEY"), "", "private-key"),
    "private key, one line": ("", block("PRIVATE" + " KEY", lines=1), "", "private-key"),
    "private key, PGP": ("", block("PGP PRIVATE" + " KEY BLOCK"), "", "private-key"),
    "private key, with CRLF": ("", block("EC PRIVATE" + " KEY", end="\r\n"), "", "private-key"),
    "private key, quoted": ("", block("PRIVATE" + " KEY", end="\n> "), "", "private-key"),
    "private key, in source": ("", block("PRIVATE" + " KEY", end="\\n"), "", "private-key"),
    "bearer": ("Authorization: Bearer ", drawn(32), "", "bearer-token"),
    "bearer, in a command": ("curl -H 'authorization: bearer ", drawn(43), "' host", "bearer-token"),
    "basic": ("Authorization: Basic ", basic(drawn(12)), "", "basic-auth"),
    "address": ("postgres://app:", drawn(10), "@db.internal:5432/shop", "url-password"),
    "address, without a user": ("redis://:", "hunter22", "@cache", "url-password"),
    "address, odd": ("https://me:", "p@ss" + drawn(4), "@host/path?q=1", "url-password"),
    "address, token for user": ("https://", drawn(40), "@host/repo.git", "url-password"),
    "variable": ("export DB_PASSWORD=", drawn(14), "", "password"),
    "variable, in quotes": ('MYSQL_PASS="', drawn(18), '"', "password"),
    "JSON": ('{"api_key": "', drawn(32), '"}', "api-key"),
    "JSON, compact": ('{"clientSecret":"', drawn(40), '","a":1}', "secret"),
    "variable, of the backend": ("BACKEND_TOKEN=", drawn(32), "", "token"),
    "YAML": ("token: ", drawn(40), "", "token"),
    "Python": ('password: str = "', drawn(12) + "!", '"', "password"),
    "environment": ('os.environ["SERVICE_API_KEY"] = "', drawn(32), '"', "api-key"),
    "Go": ('apiKey := "', drawn(32), '"', "api-key"),
    "Ruby": (":secret => '", drawn(32), "'", "secret"),
    "XML": ("<password>", drawn(12), "</password>", "password"),
    "header": ("x-api-key: ", drawn(32), "", "api-key"),
    "query": ("https://host/search?access_token=", drawn(32), "&page=2", "token"),
    "flag": ("tool --api-key ", drawn(32), " --verbose", "api-key"),
    "flag, behind a tab": ("tool --access-key\t", drawn(32), "", "secret"),
    "flag, joined": ("tool --token=", drawn(32), " --verbose", "token"),
    "Markdown": ("- **Password:** `", drawn(12), "`", "password"),
    "settings of .NET": ('<add key="ApiKey" value="', drawn(32), '"/>', "api-key"),
    "pair": ("- name: API_KEY\n  value: ", drawn(32), "", "api-key"),
    "sentence, weak": ("The password is ", "hunter2!!", "", "password"),
    "sentence": ("The API key: ", drawn(32), ".", "api-key"),
    "hexadecimal": ("SECRET_KEY=", drawn(64, HEX), "", "secret"),
    "Azure": ("AccountName=shop;AccountKey=", drawn(86, BASE64) + "==", ";Suffix=x", "secret"),
}  # fmt: skip
EVERY = pytest.mark.parametrize(
    ("before", "secret", "behind", "kind"), SAMPLES.values(), ids=[name.replace(" ", "-") for name in SAMPLES]
)

UNTOUCHED = [
    # to be filled in
    "OPENAI_API_KEY=YOUR_API_KEY",
    'api_key = "your-api-key-goes-here-1"',
    "export TOKEN=${TOKEN}",
    "TOKEN=$GITHUB_TOKEN_2 make",
    "password: {{ vault_password_1 }}",
    'password = "<password>"',
    "token: <your-token-123>",
    "Authorization: Bearer <token>",
    "Authorization: Bearer $TOKEN",
    "Authorization: Bearer YOUR_TOKEN_HERE_12345",
    "sk-xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx",
    "sk-ant-api03-...",
    "gh" + "p_" + "x" * 36,
    "gh" + "p_" + "1234567890" * 4,
    "AK" + "IAIOSFODNN7EXAMPLE",
    "aws_secret_access_key = " + "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
    "eyJhbGciOiJIUzI1NiIs...",
    "postgres://user:password@localhost:5432/db",
    "postgres://${USER}:${PASSWORD}@localhost/db",
    "https://<user>:<password>@host",
    "password=********",
    # hashes, ids, pictures
    "commit " + drawn(40, HEX),
    "token: " + drawn(40, HEX),
    '"token": "' + str(UUID(int=RANDOM.getrandbits(128))) + '"',
    "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
    '"integrity": "sha512-' + drawn(86, BASE64) + '=="',
    "data:image/png;base64,iVBORw0KGgo" + drawn(4000, BASE64) + "/AK" + "IA" + drawn(16, LETTERS.upper()) + "+/AA==",
    "toolu_" + drawn(24) + " call_" + drawn(24) + "|fc_" + drawn(48, HEX) + " msg_" + drawn(24),
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + drawn(43, BASE64) + " me@host",
    block("PUBLIC" + " KEY"),
    block("CERTIFICATE"),
    # code and prose
    "password = getpass.getpass()",
    "password: string; token?: string",
    'password = os.environ["DB_PASSWORD_2"]',
    "const apiKey = process.env.OPENAI_API_KEY_2;",
    "token = tokens[index1]",
    "token = secrets.token_hex(32)",
    "secret: config.clientSecretV2",
    'secretName: "my-app-tls-2"',
    'api_key="test_key_123"',
    "max_tokens: 4096, totalTokens=128000",
    '"nextPageToken": "' + drawn(32) + '"',
    "if token == previous1: pass",
    "private_key: ed25519.Ed25519PrivateKey",
    "PRIVATE_KEY=/etc/ssl/private/server1.pem",
    "PWD=/home/user1/project2 OLDPWD=/tmp/x9/y8/z7",
    "arn:aws:secretsmanager:eu-west-1:1:secret:my-database-a1b2c3",
    '"password": "パスワードを入力してください", "token": "Ключ-доступа-к-службе-2"',
    "Basic authentication, basic requirements, bearer authentication2",
    "task-force-of-seventeen-people-2, disk-usage-of-the-whole-machine-1",
    'class="sk-toggleable__content sk-estimator-doc-link-1"',
    "sk-ssh-ed25519-cert-v01@openssh.com",
    "https://packages.example/@scope/package/-/package-1.2.3.tgz",
    "http://localhost:3000,admin@host.example and git@github.com:org/repo.git",
    "npm_config_registry npm_lifecycle_event hf_model_name_of_something_long",
    'if "-----BEGIN PRIVATE" in text and "-----END PRIVATE" in text:',
    'header = "-----BEGIN ' + 'PRIVATE KEY-----"; footer = "-----END ' + 'PRIVATE KEY-----"',
    "[redacted:openai-key] password=[redacted:password] https://a:[redacted:url-password]@b",
]  # fmt: skip


def line_with(text: str, **fields: object) -> str:
    message = {"role": "user", "content": [{"type": "text", "text": text}]}
    return json.dumps({"type": "message", "id": "0a1b2c3d", "parentId": None, **fields, "message": message})


def text_of(line: str | bytes) -> str:
    text = json.loads(line)["message"]["content"][0]["text"]
    assert isinstance(text, str)
    return text


# -- every kind, everywhere -------------------------------------------------------------------------------


@EVERY
def test_a_credential_in_a_text_is_replaced_by_what_it_was(before, secret, behind, kind) -> None:
    done = redact(before + secret + behind)

    assert done.text == f"{before}[redacted:{kind}]{behind}"
    assert count_by_kind(done.hits) == [RedactionCount(kind, 1)]


@EVERY
@pytest.mark.parametrize("end", ["\n", "\r\n", "\n\nMore words.\n", "\t|", " ", '"', "`", "</b>", "\x1b[0m"])
def test_it_ends_where_a_line_or_a_quotation_ends(before, secret, behind, kind, end) -> None:
    text = f"First words.\n{before}{secret}{behind}{end}"

    assert redact(text).text == f"First words.\n{before}[redacted:{kind}]{behind}{end}"


@EVERY
@pytest.mark.parametrize("start", ["\\n", "\\t", "\\u0022", "\\\\n", "%3D", "\x1b[32m", "_", "(", "=", "> "])
def test_an_escape_before_it_hides_nothing(before, secret, behind, kind, start) -> None:
    assert redact(start + before + secret + behind).text == f"{start}{before}[redacted:{kind}]{behind}"


@EVERY
def test_it_is_found_inside_a_json_string(before, secret, behind, kind) -> None:
    line = line_with(f"Look:\n{before}{secret}{behind}\nand “more”")

    done = redact_bytes(line.encode())

    assert text_of(done.data) == f"Look:\n{before}[redacted:{kind}]{behind}\nand “more”"
    assert count_by_kind(done.hits) == [RedactionCount(kind, 1)]


@EVERY
@pytest.mark.parametrize("depth", [1, 2, 3])
def test_it_is_found_in_json_inside_json(before, secret, behind, kind, depth) -> None:
    text = f"Look:\n{before}{secret}{behind}\nMore."
    for _ in range(depth):
        text = json.dumps({"text": text})

    text = text_of(redact_bytes(line_with(text).encode()).data)

    for _ in range(depth):
        text = json.loads(text)["text"]
    assert text == f"Look:\n{before}[redacted:{kind}]{behind}\nMore."


@EVERY
def test_escaped_letters_hide_nothing(before, secret, behind, kind) -> None:
    hidden = "".join(f"\\u{ord(letter):04x}" for letter in before + secret + behind)
    line = line_with("Look: @").replace("@", hidden)
    slashes = line_with(before + secret + behind).replace("/", "\\/")

    assert text_of(redact_bytes(line.encode()).data) == f"Look: {before}[redacted:{kind}]{behind}"
    assert text_of(redact_bytes(slashes.encode()).data) == f"{before}[redacted:{kind}]{behind}"


@EVERY
def test_what_was_redacted_has_nothing_left(before, secret, behind, kind) -> None:
    text = redact(f"{before}{secret}{behind}, twice:\n{before}{secret}{behind}").text

    again = redact(text)

    assert text.count("[redacted:") == 2
    assert (again.text, again.hits) == (text, [])


def test_kinds_are_counted() -> None:
    text = "\n".join(before + secret + behind for before, secret, behind, _ in SAMPLES.values())

    found = {each.kind: each.count for each in count_by_kind(redact(text).hits)}

    assert found == {
        kind: sum(sample[3] == kind for sample in SAMPLES.values()) for *_, kind in SAMPLES.values()
    }
    assert [each.kind for each in count_by_kind(redact(text).hits)] == sorted(found)


def test_a_key_that_is_cut_off_goes_as_far_as_it_is_there() -> None:
    key = block("RSA PRIVATE" + " KEY")
    text = "cat key\n" + key[: key.index("-----END")] + "\n[output cut]"

    assert redact(text).text == "cat key\n[redacted:private-key]\n\n[output cut]"
    words = " and so on\n" * 400 + "-----END PRIVATE" + " KEY-----"
    assert redact(text + words).text == "cat key\n[redacted:private-key]\n\n[output cut]" + words


def test_a_key_with_line_numbers_is_one() -> None:
    lines = block("PRIVATE" + " KEY").split("\n")
    text = "\n".join(f"{number:6}→{line}" for number, line in enumerate(lines, 1))

    assert redact(text).text == "     1→[redacted:private-key]"


# -- what stays -------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", UNTOUCHED)
def test_what_is_no_credential_stays(text) -> None:
    assert redact(f"Some words.\n{text}\n") == (f"Some words.\n{text}\n", [])
    for line in (line_with(text), line_with(json.dumps({"text": text}))):
        assert redact_bytes(line.encode()) == (line.encode(), [])


@pytest.mark.parametrize("path", sorted((CORPUS / "pi").rglob("*.jsonl")), ids=lambda path: path.stem)
def test_sessions_without_credentials_stay_as_they_are(path) -> None:
    data = path.read_bytes()

    assert redact_bytes(data).data is data


def test_ids_are_never_changed() -> None:
    _, secret, _, kind = SAMPLES["GitHub, personal"]
    line = json.dumps(
        {
            "type": "message",
            "id": secret,
            "parentId": secret,
            "targetId": secret,
            "firstKeptEntryId": secret,
            "message": {
                "toolCallId": secret,
                "content": [{"type": "toolCall", "id": secret, "arguments": {"id": secret, "text": secret}}],
            },
        }
    )

    done = redact_bytes(line.encode())

    assert done.data.decode() == line.replace(
        json.dumps({"id": secret, "text": secret}),
        json.dumps({"id": f"[redacted:{kind}]", "text": f"[redacted:{kind}]"}),
    )
    assert count_by_kind(done.hits) == [RedactionCount(kind, 2)]


def test_pictures_are_never_changed() -> None:
    inside = "+/AK" + "IA" + drawn(16, string.ascii_uppercase) + "/AI" + "za" + drawn(35) + "/"
    picture = {
        "type": "image",
        "mimeType": "image/png",
        "data": drawn(2000, BASE64) + inside + drawn(500, BASE64),
    }
    line = json.dumps({"type": "message", "id": "a", "message": {"role": "user", "content": [picture]}})

    assert redact_bytes(line.encode()).data == line.encode()
    assert redact_bytes(line.replace("/", "\\/").encode()).data == line.replace("/", "\\/").encode()


def test_a_value_is_known_by_its_key() -> None:
    password, token = drawn(12), drawn(32)
    fields = {
        "dbPassword": password,
        "TOKEN": [token],
        "password": "string",
        "passwordHint": password,
        "n": 1,
    }
    line = json.dumps({"type": "custom", "id": "a", "data": {"env": fields}})

    done = redact_bytes(line.encode())

    assert json.loads(done.data)["data"]["env"] == {
        **fields,
        "dbPassword": "[redacted:password]",
        "TOKEN": ["[redacted:token]"],
    }


# -- bytes ------------------------------------------------------------------------------------------------


@EVERY
def test_every_other_byte_stays(before, secret, behind, kind) -> None:
    odd = b'\xef\xbb\xbf{"a" : "\xff\xfe\xc3", "b":"\\ud83d \\u00e9 \xc3\xa9\\/", "c": 1e400, "d":"'
    inner = json.dumps(before)[1:-1], json.dumps(secret)[1:-1], json.dumps(behind)[1:-1]

    done = redact_bytes(odd + "".join(inner).encode() + b'", "e":NaN}\r\n\x00\n')

    assert done.data == odd + f"{inner[0]}[redacted:{kind}]{inner[2]}".encode() + b'", "e":NaN}\r\n\x00\n'


@pytest.mark.parametrize("cut", [5, 30, 80, 130, -1])
def test_damaged_lines_are_redacted_too(cut) -> None:
    _, secret, _, _ = SAMPLES["Anthropic"]
    line = line_with(f"words {secret} words").encode()
    place = line.index(secret.encode())
    torn = line[: place + len(secret)]
    headless = line[cut if 0 < cut < place else place :]
    fused = line[:cut] + line

    for data in (torn, headless, fused, secret.encode(), b"garbage " + secret.encode(), torn + b"\\"):
        done = redact_bytes(b"{}\n" + data + b"\n" + line)

        assert secret.encode() not in done.data
        assert done.data.startswith(b"{}\n")
        assert done.data.count(b"\n") == 2
        assert json.loads(done.data.rpartition(b"\n")[2])["id"] == "0a1b2c3d"


def test_a_very_deep_line_is_redacted() -> None:
    secret = SAMPLES["Groq"][1]
    line = '{"a":' * 100_000 + f'"{secret}"' + "}" * 100_000

    assert redact_bytes(line.encode()).data.decode() == line.replace(secret, "[redacted:groq-key]")


def test_lines_in_different_chunks_are_all_seen(monkeypatch) -> None:
    monkeypatch.setattr("branchline.redaction.engine._CHUNK", 100)
    _, secret, _, _ = SAMPLES["GitLab"]
    lines = [line_with(f"{number} {secret if number % 3 == 0 else 'words'}") for number in range(50)]

    done = redact_bytes("\n".join(lines).encode())

    assert count_by_kind(done.hits) == [RedactionCount("gitlab-token", 17)]
    assert done.data.decode() == "\n".join(lines).replace(secret, "[redacted:gitlab-token]")


# -- laws -------------------------------------------------------------------------------------------------

fragments = st.one_of(
    st.sampled_from([part for sample in SAMPLES.values() for part in sample[:3] if part]),
    st.sampled_from(UNTOUCHED),
    st.sampled_from(
        ["password=", "token: ", '"secret": "', "Bearer ", "://a:", "@", "\\", '"', "'", "\\n", "\\u0022"]
    ),
    st.text(max_size=5),
)
spiked_texts = st.lists(fragments, max_size=6).map("".join)


@given(spiked_texts)
@example("https://" + drawn(40) + ":" + drawn(12) + "@host")
@settings(max_examples=300, deadline=None)
def test_redacting_again_changes_nothing(text) -> None:
    once = redact(text)

    again = redact(once.text)

    assert (again.text, again.hits) == (once.text, [])
    assert (once.text == text) == (once.hits == [])


@given(st.dictionaries(st.sampled_from(["text", "path", "note"]), spiked_texts, min_size=1))
@settings(max_examples=300, deadline=None)
def test_a_line_is_redacted_as_its_strings_are(fields) -> None:
    for ascii_only in (True, False):
        line = json.dumps({"type": "custom", "id": "a", "data": fields}, ensure_ascii=ascii_only)

        done = redact_bytes(line.encode("utf-8", "surrogatepass"))

        assert redact_bytes(done.data) == (done.data, [])
        assert json.loads(done.data.decode("utf-8", "surrogatepass")) == {
            "type": "custom",
            "id": "a",
            "data": {key: redact(value).text for key, value in fields.items()},
        }


@given(
    session_files(), st.lists(st.sampled_from(list(SAMPLES.values())), min_size=1, max_size=3), st.booleans()
)
@settings(max_examples=200, deadline=None)
def test_the_tree_stays_the_same_tree(data, samples, in_ids) -> None:
    text = json.dumps("\n".join("".join(sample[:3]) for sample in samples))[1:-1].encode()
    for place in (b'"text":"', b'"content":"', b'"label":"', b'"name":"'):
        data = data.replace(place, place + text)
    if in_ids:
        token = SAMPLES["Hugging Face"][1].encode()
        data = data.replace(b'd":"', b'd":"' + token)

    done = redact_bytes(data)

    assert shape(done.data) == shape(data)
    assert done.data.count(b"\n") == data.count(b"\n")
    assert redact_bytes(done.data) == (done.data, [])


def shape(data: bytes) -> tuple[object, ...]:
    transcript = EntryLog(PI, lambda start, size: data[start : start + size])
    tree = transcript.tree
    return tree.keys, tree.parents, tree.types, transcript.leaf, [found.kind for found in transcript.findings]


# -- time -------------------------------------------------------------------------------------------------

HOSTILE = [
    "sk-", "ask-", "ghp_", "gh" + "p_" + "x" * 36 + ".", "eyJ", "eyJaaaaaaaa.", "AKIA", "xoxb-", "_authToken=",
    "token=", "token= ", 'token:"', '"token":"', 'token="a b" ', "password: str = ", "password=ab12-", "token=aB3",
    "password=" + "aB3$" * 1000 + " ", 'password="' + "[a" * 900 + '" ', "--token ", "--a-", "Bearer ", "Bearer+",
    "Basic aaaa", "://", "://a:", "://a:b@c", "-----BEGIN ", "-----BEGIN PRIVATE" + " KEY-----",
    "-----BEGIN PRIVATE" + " KEY-----\n" + "A" * 40 + "\n", "\\", '\\"', '"', "\\u0073k-", "{", '{"a":', "a", "-",
    "1Q~", "a1Q~", "-us1", "$2b$12$", "0.", "/webhooks/", "SG.", "s.", "A3-", "pat", "Cookie: a=", "cookie=", "mysql -p",
    " -p", " -u", "curl -u a:", "otpauth://", ":5432:a:b:", "password ", "password '", "abandon ", "abandon, ", "KEY=",
    "key is ", "API key ", "machine a login b password ", "IDENTIFIED BY '", "datadog: ", "datadog", "{SSHA}", "sig=",
    "&sig=", "12345678:AA", "hooks.slack.com/services/", "Private-Lines: 3\n", "fm2_", "A" * 20, "0123456789abcdef",
    "MTk4NjIyNDgzNDcxOTI1MjQ4.", "aaaaaaaaaaaaaa.atlasv1.", '"name": "API_KEY", "value": ', "export PASSWORD=\n",
]  # fmt: skip


@pytest.mark.parametrize("unit", HOSTILE, ids=lambda unit: repr(unit[:20]))
def test_time_grows_with_the_text_and_not_with_its_square(unit) -> None:
    def seconds(size: int) -> float:
        text = (unit * (size // len(unit) + 1))[:size]
        lines = [text.encode(), json.dumps({"text": text}).encode()]
        start = time.process_time()
        redact(text)
        for line in lines:
            redact_bytes(line)
        return time.process_time() - start

    small, large = 8_000, 64_000

    first = min(seconds(small) for _ in range(2))

    # Eight times the text; the square of that would be 64 times the time.
    assert any(seconds(large) < 24 * max(first, 0.002) for _ in range(3))


def test_many_lines_take_seconds_for_a_hundred_megabytes() -> None:
    """Measured on a part: four megabytes of tool output in which every line has to be looked at closely."""
    words = " ".join(f"def load_{number}(path: str) -> int: return {number}" for number in range(40))
    line = line_with(f"{words}\npassword: str = field()\ntoken: {SAMPLES['YAML'][1]}\n").encode() + b"\n"
    data = line * (4_000_000 // len(line))

    start = time.process_time()
    done = redact_bytes(data)

    assert time.process_time() - start < 10
    assert count_by_kind(done.hits) == [RedactionCount("token", data.count(b"\n"))]


@pytest.mark.parametrize("before", ["backup-", "old_", "a.b-", "Copy_of_"])
def test_a_token_is_found_behind_another_word(before: str) -> None:
    token = "ghp_" + "a1B2c3D4e5" * 4

    assert redact(f"see {before}{token}.json").text == f"see {before}[redacted:github-token].json"


@pytest.mark.parametrize(
    "text",
    ["unit_test_" + "0f1e2d3c" * 4, "cache-key-" + "0f1e2d3c" * 4, "my-sk-learn-model-with-a-long-name-2"],
)
def test_a_hash_behind_words_is_no_token(text: str) -> None:
    assert redact(text).text == text


def test_a_seed_phrase_in_a_very_long_run_of_words_is_found_in_little_memory() -> None:
    phrase = "abandon ability able about above absent absorb abstract absurd abuse access accident"
    text = f"{'the and of ' * 150_000}{phrase}{' the and of' * 10}"
    redact("")  # loads the rules
    tracemalloc.start()
    clean = redact(text).text
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert phrase not in clean
    assert "[redacted:seed-phrase]" in clean
    assert peak < 10 * len(text)
