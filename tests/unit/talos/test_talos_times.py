"""Times of nodes, against the library's own way to read them."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest
from google.protobuf.timestamp_pb2 import Timestamp
from hypothesis import given
from hypothesis import strategies as st

from talosmith.talos.events import Event, Restarting
from talosmith.talos.times import read_time

FIRST, LAST = -62_135_596_800, 253_402_300_799  # the years 1 and 9999


@given(seconds=st.integers(FIRST, LAST), nanos=st.integers(0, 999_999_999))
def test_the_same_time_as_the_library_reads(seconds: int, nanos: int) -> None:
    sent = Timestamp(seconds=seconds, nanos=nanos)
    assert read_time(sent) == sent.ToDatetime(UTC)


@pytest.mark.parametrize("seconds", [2**62, -(2**62), LAST + 1, FIRST - 1])
def test_a_time_that_no_calendar_holds(seconds: int) -> None:
    assert read_time(Timestamp(seconds=seconds)) == datetime(1970, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("id_", "expected"),
    [
        ("9m4e2mr0ui3e8a215n4g", datetime(2011, 3, 22, 17, 50, 19, tzinfo=UTC)),  # the example of xid's authors
        ("not an id", datetime(1970, 1, 1, tzinfo=UTC)),
        ("", datetime(1970, 1, 1, tzinfo=UTC)),
    ],
)
def test_the_time_of_an_event_is_in_its_id(id_: str, expected: datetime) -> None:
    assert Event(id_, "", Restarting()).at == expected
