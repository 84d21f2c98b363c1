"""`python -m orchestrator`: the same as the `orchestrate` command."""

from __future__ import annotations

import sys

from orchestrator.cli.entry import main

if __name__ == "__main__":
    sys.exit(main())
