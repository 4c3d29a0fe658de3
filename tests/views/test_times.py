"""When a label was set, as short as possible."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from branchline.views.times import label_time

NOW = datetime(2026, 11, 15, 18, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("time", "shown"),
    [
        ("2026-11-15T06:46:25.335Z", "06:46"),
        ("2026-11-14T23:59:59.000Z", "11/14 23:59"),
        ("2026-01-02T03:04:05.000Z", "1/2 03:04"),
        ("2025-11-15T06:46:25.000Z", "25/11/15 06:46"),
        ("2009-12-31T06:46:25.000Z", "09/12/31 06:46"),
        ("2026-11-15T06:46:25", "06:46"),
        ("yesterday", ""),
        ("", ""),
    ],
)
def test_the_date_is_shown_only_as_far_as_it_is_needed(time, shown):
    assert label_time(time, NOW) == shown


def test_times_are_in_the_zone_of_the_reader():
    now = NOW.astimezone(timezone(timedelta(hours=9)))

    assert label_time("2026-11-15T06:46:25.335Z", now) == "11/15 15:46"


def test_a_time_at_the_end_of_the_calendar_is_no_error():
    assert label_time("9999-12-31T23:59:59.000Z", NOW.astimezone(timezone(timedelta(hours=9)))) == ""
