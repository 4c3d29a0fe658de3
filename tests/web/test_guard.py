"""Which requests the viewer answers, and the security headers of every response."""

from __future__ import annotations

import pytest

from branchline import Session, SessionLibrary
from branchline.web.guard import CSP
from web.kit import HOST, PORT, Viewer


@pytest.fixture
def viewer(tmp_path):
    with Session.create(tmp_path, directory=tmp_path / "sessions") as session:
        session.append_message("the only prompt")
        session.append_message({"role": "assistant", "content": [{"type": "text", "text": "an answer"}]})
    return Viewer(SessionLibrary(tmp_path / "sessions"), writable=True)


def cookie(viewer: Viewer) -> tuple[str, str]:
    return ("cookie", f"branchline={viewer.keys.cookie}")


def test_the_address_lets_a_browser_in_once(viewer):
    token = viewer.keys.token

    first = viewer.ask("GET", f"/enter?token={token}", [("host", HOST)])
    second = viewer.ask("GET", f"/enter?token={token}", [("host", HOST)])

    assert (first.status, first.headers["location"]) == (303, "/")
    assert first.headers["set-cookie"].lower().startswith(f"branchline={viewer.keys.cookie}".lower())
    assert "httponly" in first.headers["set-cookie"].lower()
    assert "samesite=strict" in first.headers["set-cookie"].lower()
    assert second.status == 403
    assert "set-cookie" not in second.headers


@pytest.mark.parametrize("token", ["", "x", "é", "0" * 5000])
def test_another_token_lets_nobody_in(viewer, token):
    answer = viewer.ask(
        "GET", f"/enter?token={token.encode('latin-1', 'replace').decode('latin-1')}", [("host", HOST)]
    )

    assert answer.status == 403
    assert "set-cookie" not in answer.headers
    assert viewer.keys.token is not None


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
        [f"0.0.0.0:{PORT}"],
        [f"127.1:{PORT}"],
        [f"[::ffff:127.0.0.1]:{PORT}"],
        [HOST, "evil.example"],
        ["evil.example", HOST],
        [f"{HOST},evil.example"],
        [f" {HOST}x"],
    ],
)
def test_another_host_name_gets_nothing_even_with_the_cookie(viewer, hosts):
    answer = viewer.ask("GET", "/", [*(("host", host) for host in hosts), cookie(viewer)])

    assert answer.status == 400
    assert b"<html" not in answer.body


@pytest.mark.parametrize("host", [HOST, f"localhost:{PORT}", f"[::1]:{PORT}", f"LOCALHOST:{PORT}"])
def test_the_names_of_this_machine_are_answered(viewer, host):
    assert viewer.ask("GET", "/", [("host", host), cookie(viewer)]).status == 200


@pytest.mark.parametrize(
    "target", ["/", "/statistics", "/api/sessions", "/static/web.css", "/s/x", "/nothing", "/api/s/x/events"]
)
@pytest.mark.parametrize(
    "given", [[], [("cookie", "branchline=wrong")], [("cookie", "branchline=")], [("cookie", "\x01=;;")]]
)
def test_reading_needs_the_cookie(viewer, target, given):
    answer = viewer.ask("GET", target, [("host", HOST), *given])

    assert answer.status == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site", "nonsense"])
def test_requests_that_another_page_makes_are_refused(viewer, site):
    assert viewer.get("/api/sessions", sec_fetch_site=site).status == 403


@pytest.mark.parametrize(
    ("changed", "status"),
    [
        ({"origin": "http://evil.example"}, 403),
        ({"origin": "null"}, 403),
        ({"origin": f"https://{HOST}"}, 403),
        ({"origin": f"http://localhost:{PORT}"}, 403),  # not the page that the cookie is for
        ({"origin": f"http://{HOST}.evil.example"}, 403),
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

    answer = viewer.post(
        f"/api/s/{row['id']}/title", {"text": "owned"}, **{k.replace("-", "_"): v for k, v in changed.items()}
    )

    assert answer.status == status
    assert viewer.get("/api/sessions").json["rows"][0]["title"] == "the only prompt"


def test_a_change_without_an_origin_is_refused(viewer):
    (row,) = viewer.get("/api/sessions").json["rows"]
    headers = [
        ("host", HOST),
        cookie(viewer),
        ("x-branchline", viewer.keys.csrf),
        ("content-type", "application/json"),
    ]

    assert viewer.ask("POST", f"/api/s/{row['id']}/title", headers, b'{"text":"x"}').status == 403


@pytest.mark.parametrize("method", ["PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT"])
def test_other_methods_are_refused(viewer, method):
    assert viewer.ask(method, "/", [("host", HOST), cookie(viewer)]).status == 405


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
    ["/", "/nothing", "/api/sessions?limit=x", "/s/unknown", "/enter?token=no", "/static/style.none"],
)
def test_every_answer_has_the_headers(viewer, target):
    answer = viewer.get(target)

    assert answer.headers["content-security-policy"] == CSP
    assert "default-src 'none'" in CSP
    assert "unsafe" not in CSP
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert answer.headers["cache-control"] == "no-store"
    assert answer.headers["referrer-policy"] == "no-referrer"
    assert "frame-ancestors 'none'" in CSP


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
