"""Where runs execute; a port with one implementation, this process."""

from __future__ import annotations
