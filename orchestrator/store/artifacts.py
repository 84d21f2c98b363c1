"""Keep large contents as files named by their SHA-256, each content once."""

from __future__ import annotations

import re
import threading
from contextlib import suppress
from pathlib import Path

from orchestrator.errors import StoreError
from orchestrator.ids import REFERENCE, artifact_id
from orchestrator.store.disk import put_in_place, store_error, sync_folder, write_beside

__all__ = ["Artifacts"]

_EXT = re.compile(r"[a-z0-9]{1,8}")


class Artifacts:
    """The `artifacts/` folder of a run. Safe to use from many threads.

    Every content is checked against its name when it is read, so that a damaged
    file is an error and never a wrong answer.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._lock = threading.Lock()
        self._known: dict[str, Path] = {}
        self._durable: set[str] = set()  # names are on disk too

    def put(self, data: bytes, ext: str = "txt") -> str:
        """Store `data` and return its reference, `art_` and 12 hex digits.

        When this returns, the content survives a power cut. A content that is there
        already is not written again, whatever its `ext`.

        Args:
            data: the whole content.
            ext: 1 to 8 lower-case letters or digits, without the dot.

        Raises:
            StoreError: the disk refuses, or another content has the same name.
            ValueError: `ext` is not a plain extension.
        """
        if not _EXT.fullmatch(ext):
            raise ValueError(f"`ext` must be 1 to 8 letters or digits, got {ext!r}")
        ref = artifact_id(data)
        path = self.folder / f"{ref}.{ext}"
        try:
            if self._is_stored(ref, data, path):
                return ref
            beside = write_beside(path, data)
            with self._lock:
                # If something is there now, another thread was faster, or it is
                # damaged; both end with this content under the name it has.
                path = self._find(ref, path) or path
                put_in_place(beside, path)
                self._make_durable(ref, path)
        except OSError as error:
            raise store_error("write", path, error) from error
        return ref

    def path(self, ref: str) -> Path:
        """Return the file that holds `ref`.

        Raises:
            StoreError: `ref` is no reference, or nothing is stored under it.
        """
        if not REFERENCE.fullmatch(ref):
            raise StoreError(
                f"`{ref[:80]}` is no reference; one looks like art_0123456789ab"
            )
        with self._lock:
            found = self._find(ref)
        if found is None:
            raise StoreError(f"nothing is stored as `{ref}`")
        return found

    def read(self, ref: str) -> bytes:
        """Return the content of `ref`, byte for byte.

        Raises:
            StoreError: there is none, it cannot be read, or it is damaged.
        """
        path = self.path(ref)
        try:
            data = path.read_bytes()
        except OSError as error:
            raise store_error("read", path, error) from error
        if artifact_id(data) != ref:
            raise StoreError(f"`{path}` is damaged: its content does not fit its name")
        return data

    def read_text(self, ref: str) -> str:
        """Return the content of `ref` as text; bytes that are not UTF-8 become U+FFFD.

        Raises:
            StoreError: as `read`.
        """
        return self.read(ref).decode("utf-8", "replace")

    def exists(self, ref: str) -> bool:
        """Return whether something is stored under `ref`."""
        try:
            self.path(ref)
        except StoreError:
            return False
        return True

    def _find(self, ref: str, likely: Path | None = None) -> Path | None:
        """Return the file of `ref`; the folder is listed only where it must be."""
        known = self._known.get(ref)
        if known is not None and known.exists():
            return known
        if likely is not None and self._known:
            return likely if likely.exists() else None
        with suppress(FileNotFoundError):
            for path in self.folder.iterdir():
                if REFERENCE.fullmatch(path.stem):
                    self._known[path.stem] = path
        found = self._known.get(ref)
        return found if found is not None and found.exists() else None

    def _make_durable(self, ref: str, path: Path) -> None:
        if ref not in self._durable:
            sync_folder(self.folder)
            self._durable.add(ref)
        self._known[ref] = path

    def _is_stored(self, ref: str, data: bytes, path: Path) -> bool:
        with self._lock:
            there = self._find(ref, path)
            if there is None:
                return False
            stored = there.read_bytes()
            if stored == data:
                # An earlier process may have died before it had synced the name.
                self._make_durable(ref, there)
                return True
        if artifact_id(stored) == ref:
            raise StoreError(
                f"two contents have the same name `{ref}`; `{there}` is kept"
            )
        return False  # damaged: it is written again
