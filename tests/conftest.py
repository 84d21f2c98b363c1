"""How property tests run: the same examples for everybody, and no stopwatch.

`HYPOTHESIS_PROFILE=search make unit` looks for new examples instead.
"""

from __future__ import annotations

import os

from hypothesis import settings

settings.register_profile("steady", derandomize=True, deadline=None)
settings.register_profile("search", deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "steady"))
