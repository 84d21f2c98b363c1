"""Where a window holds one step and hardly more, the work goes on, step by step."""

from __future__ import annotations

from pathlib import Path

import pytest
from long_work import is_summary, lay_parts, summary
from run_bench import OBJECTIVE, finish

from orchestrator.messages import text_of
from orchestrator.models.base import ModelRequest, Usage
from orchestrator.testing import ScriptedModel, Step, call, reply

STEPS = 6
BYTES_PER_TOKEN = 3.2
"""The service counts more than is estimated: in a tight window that is all there is."""


@pytest.mark.parametrize(("window", "calls"), [(5900, 3), (6000, 8), (6500, 3)])
async def test_in_a_window_that_holds_one_step_the_work_is_done(
    tmp_path: Path, window: int, calls: int
) -> None:
    steps, sizes = iter(range(STEPS)), []

    def lead(request: ModelRequest) -> Step:
        sent = int(len(request.body) / BYTES_PER_TOKEN)
        sizes.append(sent)
        usage = Usage(input_tokens=sent, output_tokens=40 * calls)
        assert OBJECTIVE in text_of(request.messages[0]["content"])
        if is_summary(request):
            return reply(summary(work="- Parts are read."), usage=usage)
        step = next(steps, None)
        if step is None:
            return reply(finish("All is read."), usage=usage)
        parts = range(step * calls + 1, (step + 1) * calls + 1)
        reads = [call("read_file", path=f"part{part}.md") for part in parts]
        return reply(*reads, usage=usage)

    bench = lay_parts(tmp_path, STEPS * calls, lines=60)

    ended = await bench.run(
        ScriptedModel(lead), context_policy={"window_tokens": window}
    )

    assert ended.result.state == "done", ended.result
    assert max(sizes) <= window
    assert ended.events("context.compacted")
