"""A process of its own that edits a file in many ways, and prints what it wrote."""

from __future__ import annotations

import json
import random
import sys
import time
from pathlib import Path

from notes_bench import Person

MAX_PAUSE_S = 0.004


def edit(path: Path, seed: int, times: int) -> list[str]:
    """Edit the file so often, with pauses, and return the words written."""
    rng = random.Random(seed)
    person = Person(path, rng, times, tries=1_000)
    while not person.is_done:
        person.step()
        time.sleep(rng.random() * MAX_PAUSE_S)
    return person.said


if __name__ == "__main__":
    words = edit(Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]))
    sys.stdout.write(json.dumps(words))
