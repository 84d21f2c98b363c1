"""Requests to a live run, as files."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from orchestrator.errors import StoreError
from orchestrator.store.control import (
    STOP,
    Request,
    pending,
    read_request,
    remove,
    send,
)
from orchestrator.store.lock import Holder

ME = Holder(1234, "2026-11-29T20:15:00Z")


def test_a_request_comes_out_as_it_went_in_and_goes_when_it_is_taken(
    tmp_path: Path,
) -> None:
    control = tmp_path / "control"

    path = send(control, Request(STOP, ME, "a3"))

    assert pending(control) == [path]
    assert read_request(path) == Request(STOP, ME, "a3")
    remove(path)
    remove(path)
    assert list(control.iterdir()) == []


def test_requests_come_in_the_order_they_were_made(tmp_path: Path) -> None:
    sent = [send(tmp_path, Request(STOP, ME, f"a{number}")) for number in range(12)]

    assert pending(tmp_path) == sent


def test_what_is_being_written_is_no_request_yet(tmp_path: Path) -> None:
    (tmp_path / ".17-abc.json.0f0f.tmp").write_text("{")
    (tmp_path / ".hidden.json").write_text("{}")
    (tmp_path / "readme.txt").write_text("x")

    assert pending(tmp_path) == []


def test_a_folder_that_is_gone_holds_no_requests_and_is_made_again(
    tmp_path: Path,
) -> None:
    gone = tmp_path / "gone"
    assert pending(gone) == []

    path = send(gone, Request(STOP, ME))

    assert read_request(path).to == ""


@pytest.mark.parametrize(
    "content",
    [
        pytest.param(b"", id="empty"),
        pytest.param(b'{"action": "stop", "hol', id="half"),
        pytest.param(b"\x00\xff\xfe", id="not text"),
        pytest.param(b"[]", id="a list"),
        pytest.param(b"7", id="a number"),
        pytest.param(b'{"action": "stop"}', id="to nobody"),
        pytest.param(b'{"action": "stop", "holder": "x"}', id="to a text"),
        pytest.param(
            b'{"action": "stop", "holder": {"pid": "x", "since": ""}}', id="no pid"
        ),
        pytest.param(b" " * 5000 + b"{}", id="large"),
    ],
)
def test_what_is_no_request_is_told_by_its_path(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "1.json"
    path.write_bytes(content)

    with pytest.raises(StoreError, match=r"1\.json` is not a request"):
        read_request(path)


@pytest.mark.parametrize("kind", ["folder", "link", "pipe", "nothing"])
def test_what_is_no_plain_file_keeps_nobody_waiting(tmp_path: Path, kind: str) -> None:
    path = tmp_path / "1.json"
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("/dev/zero")
    elif kind == "pipe":
        os.mkfifo(path)

    with pytest.raises(StoreError, match=r"1\.json`"):
        read_request(path)


def test_a_folder_that_cannot_be_written_is_an_error_for_people(tmp_path: Path) -> None:
    (tmp_path / "control").write_text("a file")

    with pytest.raises(StoreError, match=r"cannot make `.*control`: a file is where"):
        send(tmp_path / "control", Request(STOP, ME))
