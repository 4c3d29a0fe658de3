"""Which requests the viewer answers, and the security headers of every response."""

from __future__ import annotations

import pytest

from branchline import Session, SessionLibrary
from branchline.web.guard import CSP
from web.kit import PORT, Answer, Viewer


@pytest.fixture
def viewer(tmp_path):
    with Session.create(tmp_path, directory=tmp_path / "sessions") as session:
        session.append_message("the only prompt")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "an answer"}]})
    return Viewer(SessionLibrary(tmp_path / "sessions"), writable=True)


def cookie(viewer: Viewer) -> tuple[str, str]:
    return ("cookie", f"branchline={viewer.keys.cookie}")


def enter(viewer: Viewer, key: str, *, host: str = "", **headers: str) -> Answer:
    given = {"host": host or viewer.host, "origin": "null", "sec-fetch-site": "cross-site", **headers}
    return viewer.ask("POST", "/enter", given.items(), f"key={key}".encode())


@pytest.mark.parametrize(("host", "path"), [("", "/"), (f"127.0.0.1:{PORT}", "/{}/")])
def test_the_key_lets_a_browser_in_once(viewer, host, path):
    path, key = path.format(viewer.keys.name), viewer.keys.key

    first = enter(viewer, key, host=host)
    second = enter(viewer, key, host=host)

    assert first.status == 200
    cookie = first.headers["set-cookie"].split("; ")
    assert cookie[0] == f"branchline={viewer.keys.cookie}"
    assert {"HttpOnly", "SameSite=strict", f"Path={path}"} == set(cookie[1:])
    assert f'content="0; url={path}"' in first.text
    assert (second.status, "used already" in second.text) == (403, True)
    assert "set-cookie" not in second.headers


def test_a_new_key_replaces_the_former_one(viewer):
    former = viewer.keys.key
    viewer.keys.renew()

    assert enter(viewer, former).status == 403
    assert enter(viewer, viewer.keys.key).status == 200


@pytest.mark.parametrize("key", ["", "x", ".", "é", "0" * 500, "None"])
def test_another_key_lets_nobody_in_and_says_no_name(viewer, key):
    for one in (key, f"{viewer.keys.name}.{key}"):
        answer = enter(viewer, one, host=f"127.0.0.1:{PORT}")

        assert answer.status == 403
        assert "set-cookie" not in answer.headers
        assert viewer.keys.token is not None
        assert (viewer.keys.name in answer.text) == one.startswith(viewer.keys.name)


def test_a_key_in_an_address_is_not_taken(viewer):
    answer = viewer.ask("GET", f"/enter?key={viewer.keys.key}", [("host", viewer.host)])

    assert "set-cookie" not in answer.headers
    assert viewer.keys.token is not None
    assert viewer.keys.name not in answer.text


def test_a_long_key_is_refused(viewer):
    assert enter(viewer, "0" * 5000).status == 413


def test_the_loopback_address_shows_the_viewer_only_below_its_name(viewer):
    host = ("host", f"127.0.0.1:{PORT}")
    below = f"/{viewer.keys.name}"

    assert viewer.ask("GET", f"{below}/api/sessions", [host, cookie(viewer)]).status == 200
    assert f'href="{below}/static/style.css"' in viewer.ask("GET", f"{below}/", [host, cookie(viewer)]).text
    for path in ("/", "/api/sessions", f"/{'0' * len(viewer.keys.name)}/", below[:-1] + "/"):
        assert viewer.ask("GET", path, [host, cookie(viewer)]).status == 403
    assert viewer.ask("GET", f"{below}/", [host]).status == 403


@pytest.mark.parametrize(
    "hosts",
    [
        [],
        [""],
        ["evil.example"],
        [f"evil.example:{PORT}"],
        [f"127.0.0.1.evil.example:{PORT}"],
        ["127.0.0.1"],
        [f"127.0.0.1:{PORT + 1}"],
        [f"127.0.0.1:{PORT}@evil.example"],
        [f"localhost.:{PORT}"],
        [f"x.localhost:{PORT}"],
        [f"OWN.localhost:{PORT + 1}"],
        ["OWN.localhost"],
        [f"x.OWN.localhost:{PORT}"],
        [f"OWN.localhost.:{PORT}"],
        [f"OWN:{PORT}"],
        [f"0.0.0.0:{PORT}"],
        [f"127.1:{PORT}"],
        [f"[::ffff:127.0.0.1]:{PORT}"],
        [f"OWN.localhost:{PORT}", "evil.example"],
        ["evil.example", f"OWN.localhost:{PORT}"],
        [f"OWN.localhost:{PORT},evil.example"],
        [f" OWN.localhost:{PORT}x"],
    ],
)
def test_another_host_name_gets_nothing_even_with_the_cookie(viewer, hosts):
    given = [("host", host.replace("OWN", viewer.keys.name)) for host in hosts]

    answer = viewer.ask("GET", "/", [*given, cookie(viewer)])

    assert answer.status == 400
    assert b"<html" not in answer.body


@pytest.mark.parametrize(
    "host", [f"127.0.0.1:{PORT}", f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"]
)
def test_the_names_of_this_machine_are_answered(viewer, host):
    given = [("host", host), cookie(viewer)]

    assert viewer.ask("GET", f"/{viewer.keys.name}/", given).status == 200
    assert viewer.ask("GET", "/", [("host", viewer.host.upper()), cookie(viewer)]).status == 200


@pytest.mark.parametrize(
    "target",
    ["/", "/statistics", "/api/sessions", "/static/web.css", "/s/x", "/nothing", "/api/events?of=x:0"],
)
@pytest.mark.parametrize(
    "given", [[], [("cookie", "branchline=wrong")], [("cookie", "branchline=")], [("cookie", "\x01=;;")]]
)
def test_reading_needs_the_cookie(viewer, target, given):
    answer = viewer.ask("GET", target, [("host", viewer.host), *given])

    assert answer.status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_requests_that_another_page_makes_are_refused(viewer, site):
    assert viewer.get("/api/sessions", sec_fetch_site=site).status == 403


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://OWN.localhost:{PORT}"}, 403),
        ({"origin": f"http://localhost:{PORT}"}, 403),  # not the page that the cookie is for
        ({"origin": f"http://127.0.0.1:{PORT}"}, 403),
        ({"origin": f"http://OWN.localhost:{PORT}.evil.example"}, 403),
        ({"x-branchline": ""}, 403),
        ({"x-branchline": "guess"}, 403),
        ({"content-type": "text/plain"}, 415),
        ({"content-type": "application/x-www-form-urlencoded"}, 415),
        ({"content-length": "99999999"}, 413),
        ({"content-length": "-1"}, 413),
        ({"cookie": "branchline=wrong"}, 403),
    ],
)
def test_a_change_needs_the_origin_the_token_and_json(viewer, changed, status):
    (row,) = viewer.get("/api/sessions").json["rows"]

    changed = {k.replace("-", "_"): v.replace("OWN", viewer.keys.name) for k, v in changed.items()}
    answer = viewer.post(f"/api/s/{row['id']}/title", {"text": "owned"}, **changed)

    assert answer.status == status
    assert viewer.get("/api/sessions").json["rows"][0]["title"] == "the only prompt"


@pytest.mark.parametrize("origins", [[], ["http://OWN"] * 2, ["http://OWN", "http://evil.example"]])
def test_a_change_needs_exactly_one_origin(viewer, origins):
    (row,) = viewer.get("/api/sessions").json["rows"]
    headers = [
        *(("origin", origin.replace("OWN", viewer.host)) for origin in origins),
        ("host", viewer.host),
        cookie(viewer),
        ("x-branchline", viewer.keys.csrf),
        ("content-type", "application/json"),
    ]

    assert viewer.ask("POST", f"/api/s/{row['id']}/title", headers, b'{"text":"x"}').status == 403


def test_a_change_needs_exactly_one_token(viewer):
    (row,) = viewer.get("/api/sessions").json["rows"]
    headers = [
        ("host", viewer.host),
        cookie(viewer),
        ("origin", f"http://{viewer.host}"),
        ("content-type", "application/json"),
        ("x-branchline", viewer.keys.csrf),
    ]
    target, body = f"/api/s/{row['id']}/title", b'{"text":"x"}'

    assert viewer.ask("POST", target, [*headers, ("x-branchline", "guess")], body).status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(viewer, method):
    assert viewer.ask(method, "/", [("host", viewer.host), cookie(viewer)]).status == 405


@pytest.mark.parametrize(
    "target",
    [
        "/static/../guard.py",
        "/static/..%2fguard.py",
        "/static//etc/passwd",
        "/static/%2e%2e/%2e%2e/app.py",
        "/static/guard.py",
        "/s/..%2f..%2fetc%2fpasswd",
        "/s/../../etc/passwd",
        "/api/s//etc/passwd/skeleton",
        "/api/s/%2fetc%2fpasswd/skeleton",
        "/" + "a" * 9000,
    ],
)
def test_no_address_leads_to_a_file(viewer, target):
    answer = viewer.get(target)

    assert answer.status in (404, 414)
    assert b"root:" not in answer.body


@pytest.mark.parametrize(
    "target",
    ["/", "/nothing", "/api/sessions?limit=x", "/s/unknown", "/enter", "/static/style.none"],
)
def test_every_answer_has_the_headers(viewer, target):
    answer = viewer.get(target)

    policy = answer.headers["content-security-policy"]
    assert policy == CSP or target == "/enter"
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert "frame-ancestors 'none'" in policy
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"


def test_a_failure_inside_is_a_sentence_with_all_headers(viewer, monkeypatch):
    monkeypatch.setattr("branchline.web.app.session_table", lambda *_: 1 / 0)

    answer = viewer.get("/api/sessions")

    assert answer.status == 500
    assert answer.json == {"problem": "the viewer failed: ZeroDivisionError"}
    assert answer.headers["content-security-policy"] == CSP


def test_a_viewer_without_write_changes_nothing(tmp_path, viewer):
    reader = Viewer(SessionLibrary(tmp_path / "sessions"))
    (row,) = reader.get("/api/sessions").json["rows"]

    answer = reader.post(f"/api/s/{row['id']}/title", {"text": "new"})

    assert answer.status == 403
    assert "--write" in answer.json["problem"]
