"""What a server of the web answered."""

from __future__ import annotations

from dataclasses import dataclass

from orchestrator.security.urls import WebAddress

__all__ = ["Reply"]


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server answered.

    Attributes:
        address: where it came from in the end.
        status: HTTP status.
        reason: the server's word for it.
        headers: by name in lower case; of several the first.
        body: decompressed.
        is_cut: there was more than may be read.
    """

    address: WebAddress
    status: int
    reason: str
    headers: dict[str, str]
    body: bytes
    is_cut: bool = False

    @property
    def is_good(self) -> bool:
        """Return whether it is what was asked for."""
        return 200 <= self.status < 300
