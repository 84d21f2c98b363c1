"""Run the calls of one step side by side and turn every failure into a result.

Intent is logged before a call runs and the outcome after it; calls with effects wait
until their intent is on disk.
"""

from __future__ import annotations

import inspect
import traceback
from collections.abc import Awaitable, Callable, Collection, Sequence
from difflib import get_close_matches
from typing import Any

import anyio
import structlog

from orchestrator.clock import Clock
from orchestrator.errors import LimitReached, StoreError, ToolError
from orchestrator.events import ToolEnded, ToolStarted
from orchestrator.events.of_agent import UNKNOWN
from orchestrator.messages import clean_text, with_texts
from orchestrator.spec.foreign import NEEDS
from orchestrator.store.eventlog import EventLog
from orchestrator.tools.arguments import encodable, listed, parse_arguments, shown
from orchestrator.tools.base import Clip, Tool, ToolContext, ToolOutput
from orchestrator.tools.calls import (
    Answered,
    Barred,
    CallResult,
    CallSpec,
    Known,
    OnRecord,
)
from orchestrator.tools.entry import Admitted, admit
from orchestrator.tools.fence import Fence, is_cancelled
from orchestrator.tools.grace import GRACE_S, with_grace
from orchestrator.tools.permits import CLOSED, Gate, asked_by
from orchestrator.tools.registry import Registry
from orchestrator.tools.step import STOPPED, Job, NotRun, Step, stopped
from orchestrator.tools.threads import in_thread

__all__ = ["TERMINAL", "Executor"]

TERMINAL = frozenset({"finish", "submit_findings"})
"""Tools that hand in; they run after all others of their step."""

log = structlog.get_logger(__name__)

_NAME_CHARS = 64
_ERROR_CHARS = 300
_HANDED_IN = "Not run: another hand-in of this step is accepted already."
# Bigger texts are cleaned and clipped in a thread.
_INLINE_CHARS = 50_000
# Raised on purpose and for the run, not for the model.
_FOR_THE_RUN = (LimitReached, StoreError)


_Outcome = ToolOutput | Admitted | str


class Executor:
    """Runs calls. One serves any number of agents of a run at once."""

    def __init__(
        self,
        registry: Registry,
        log: EventLog,
        clip: Clip,
        clock: Clock,
        *,
        gate: Gate = CLOSED,
    ) -> None:
        self.registry = registry
        self._gate = gate
        self._log = log
        self._clip = clip
        self._clock = clock

    async def run(
        self,
        calls: Sequence[CallSpec],
        context: Callable[[str], ToolContext],
        allowed: Collection[str],
        *,
        limit: anyio.CancelScope | None = None,
        on_result: Callable[[CallResult], None] = lambda _result: None,
    ) -> list[CallResult]:
        """Return one result per call, in the order of `calls`.

        A failing call is a result with `is_error`. Terminal tools run after all others;
        once one is accepted, further ones are not run. Cancelling ends async tools;
        a sync one that cannot be stopped is left alone and its result is dropped. A
        call with effects has a second to end first, and its outcome is on record.

        Args:
            calls: of one step.
            context: makes the context of a call from its id.
            allowed: names of the tools that this agent may call.
            limit: a scope to run all but terminal tools in; what it cuts is answered
                with `STOPPED`. A person is asked until its deadline, too.
            on_result: told of each result that was not known before, once it is logged.

        Raises:
            StoreError: the run's folder cannot be written.
            LimitReached: a tool reached a limit of the run.
        """
        limit = limit or anyio.CancelScope()
        done: dict[str, CallResult] = {}
        todo: list[Job | NotRun] = []
        for spec in calls:
            if isinstance(spec.prior, Answered):
                done[spec.call] = spec.prior.result
            else:
                made = self._prepare(spec, context(spec.call), allowed)
                with anyio.CancelScope(deadline=limit.deadline) as asking:
                    made = await self._permitted(made)
                todo.append(stopped(made) if asking.cancelled_caught else made)
        # All calls of a step come of the reply that holds them.
        reply = self._log.newest(todo[0].context.agent) if todo else 0
        step = Step(reply, on_result, done)
        ordinary = [each for each in todo if each.spec.name not in TERMINAL]
        if anyio.current_time() >= limit.deadline:
            ordinary = [stopped(each) for each in ordinary]
        await self._run_together(ordinary, step, limit)
        for each in todo:
            if each.spec.name not in TERMINAL:
                continue
            is_late = any(result.ends for result in done.values())
            late = NotRun(each.spec, each.context, _HANDED_IN)
            one = late if is_late else each
            await self._run_together([one], step, anyio.CancelScope())
        return [done[spec.call] for spec in calls]

    def _prepare(
        self, spec: CallSpec, context: ToolContext, allowed: Collection[str]
    ) -> Job | NotRun:
        match spec.prior:
            case Known(text):
                return NotRun(spec, context, text, is_error=False)
            case Barred(text):
                return NotRun(spec, context, text)
        tool = self.registry.get(spec.name)
        if tool is None:
            return NotRun(spec, context, self._unknown(spec.name, allowed))
        if spec.name not in allowed:
            why = (
                f"`{spec.name}` exists but is not allowed here. "
                f"Allowed: {listed(sorted(allowed))}."
            )
            return NotRun(spec, context, why)
        try:
            args = parse_arguments(spec.name, tool.Args, spec.input)
        except ToolError as error:
            return NotRun(spec, context, str(error))
        return Job(spec, context, tool, args)

    async def _permitted(self, each: Job | NotRun) -> Job | NotRun:
        """Return a call as it is, or as one that is not run: it may not."""
        if isinstance(each, NotRun):
            return each
        spec, context, ask, why = each.spec, each.context, None, ""
        with Fence() as fence:
            ask = asked_by(each.tool, each.args, context)
        if fence.error is not None:
            why = self._failed(each, fence.error).text
        elif ask is not None:
            why = await self._gate.refused(context.agent, spec.call, spec.name, ask)
        return NotRun(spec, context, why) if why else each

    def _unknown(self, name: str, allowed: Collection[str]) -> str:
        names = [each for each in self.registry.names if each in allowed]
        close = get_close_matches(name.strip().lower()[:_NAME_CHARS], names, n=1)
        hint = f" Did you mean `{close[0]}`?" if close else ""
        if name in NEEDS:
            return (
                f"`{name}` is not there: {NEEDS[name]} is not allowed here, or nobody "
                f"is there to be asked. Tools: {listed(names)}."
            )
        if name in allowed:  # it was there when the agent started
            return f"`{name}` is no longer available.{hint} Tools: {listed(names)}."
        return f"There is no tool {shown(name)}.{hint} Tools: {listed(names)}."

    async def _run_together(
        self,
        todo: Sequence[Job | NotRun],
        step: Step,
        limit: anyio.CancelScope,
    ) -> None:
        """Run calls side by side within `limit` and add their results to `step`."""
        jobs = await self._begin(todo, step)
        if not jobs:
            return
        began = self._clock.monotonic()
        failures: list[LimitReached | StoreError] = []
        # Always in tasks of their own: there, a cancellation that is not of a scope
        # around them can only come from the tool itself.
        with limit:
            async with anyio.create_task_group() as group:

                async def work(job: Job, cause: int) -> None:
                    try:
                        step.take(await self._run_job(job, cause, failures))
                    except _FOR_THE_RUN as error:
                        failures.append(error)
                        group.cancel_scope.cancel()

                for job, cause in jobs:
                    group.start_soon(work, job, cause)
        if failures:
            raise failures[0]
        seconds = self._clock.monotonic() - began
        for job, cause in jobs:
            if job.spec.call not in step.done:
                cut = ToolOutput(STOPPED, is_error=True)
                step.take(self._conclude(job, cut, cause, seconds))

    async def _begin(
        self, todo: Sequence[Job | NotRun], step: Step
    ) -> list[tuple[Job, int]]:
        """Answer what does not run; return the rest, each with its intent's `seq`."""
        jobs: list[tuple[Job, int]] = []
        for each in todo:
            if isinstance(each, NotRun):
                answer = ToolOutput(each.text, is_error=each.is_error)
                step.take(self._conclude(each, answer, step.reply))
            else:
                jobs.append((each, self._announce(each, step.reply)))
        if any(job.tool.effects == "effects" for job, _ in jobs):
            await self._log.sync()
        return jobs

    def _announce(self, job: Job, reply: int) -> int:
        """Log the intent and return the `seq` of its event."""
        if isinstance(job.spec.prior, OnRecord):
            return reply
        given = with_texts(encodable(job.spec.input), job.context.redact)
        intent = ToolStarted(job.spec.call, job.spec.name, given, job.tool.effects)
        agent = job.context.agent
        return self._log.append(intent, agent=agent, cause=reply).seq

    async def _run_job(
        self, job: Job, cause: int, failures: Sequence[Exception]
    ) -> CallResult:
        """Run a call; one with effects may end, and is on record, when it is cut."""
        if job.tool.effects != "effects":
            return await self._run_one(job, cause)

        def is_lost() -> CallResult:
            return self._conclude(job, ToolOutput(UNKNOWN, is_error=True), cause)

        def grace_s() -> float:  # where the disk fails, nothing can be recorded
            broken = any(isinstance(error, StoreError) for error in failures)
            return 0.0 if broken else GRACE_S

        return await with_grace(
            lambda: self._run_one(job, cause), is_lost, grace_s=grace_s
        )

    async def _run_one(self, job: Job, cause: int) -> CallResult:
        started = self._clock.monotonic()
        outcome: _Outcome | None = None
        is_async = inspect.iscoroutinefunction(job.tool.run)
        with anyio.move_on_after(job.tool.timeout_s) as scope:
            if is_async:
                outcome = await self._settle(job, job.tool.run(job.args, job.context))
            else:
                called = await in_thread(self._call, job, kind=job.tool.name)
                outcome = (
                    await self._settle(job, called)
                    if isinstance(called, Awaitable)
                    else called
                )
        if scope.cancelled_caught or outcome is None:
            outcome = _out_of_time(job.tool, is_async=is_async)
        if not isinstance(outcome, Admitted) and len(_text(outcome)) > _INLINE_CHARS:
            outcome = await in_thread(self._admit, outcome, job)
        seconds = self._clock.monotonic() - started
        return self._conclude(job, outcome, cause, seconds)

    def _admit(self, output: ToolOutput | str, job: Job | NotRun) -> Admitted:
        tool = job.tool if isinstance(job, Job) else None
        return admit(
            output,
            job.context,
            self._clip,
            fields=getattr(tool, "context_fields", ()),
            own_marks=getattr(tool, "own_marks", False),
        )

    def _call(self, job: Job) -> Admitted | Awaitable[Any]:
        """Run a sync tool and admit its output; in a worker thread."""
        output: ToolOutput | str | Awaitable[Any] = ""
        with Fence(lets_out=()) as fence:  # signals never come to such a thread
            output = job.tool.run(job.args, job.context)
        if fence.error is not None:
            output = self._failed(job, fence.error)
        return output if isinstance(output, Awaitable) else self._admit(output, job)

    async def _settle(self, job: Job, running: Awaitable[Any]) -> ToolOutput | str:
        output: ToolOutput | str = ""
        with Fence() as fence:
            output = await running
        error = fence.error
        if error is None:
            return output
        if isinstance(error, anyio.get_cancelled_exc_class()) and is_cancelled():
            raise error
        return self._failed(job, error)

    def _failed(self, job: Job, error: BaseException) -> ToolOutput:
        """Return what the model is told about a failure."""
        if isinstance(error, _FOR_THE_RUN):
            raise error
        if isinstance(error, ToolError):
            return ToolOutput(str(error) or type(error).__name__, is_error=True)
        name, kind = job.spec.name, type(error).__name__
        if not isinstance(error, Exception):  # a cancellation of its own, `sys.exit`
            return ToolOutput(f"`{name}` ended itself ({kind})", is_error=True)
        log.error(
            "tool.crashed",
            tool=name,
            agent=job.context.agent,
            call=job.spec.call,
            exception=job.context.redact("".join(traceback.format_exception(error))),
        )
        said = job.context.redact(_said(error))[:_ERROR_CHARS]
        return ToolOutput(
            f"`{name}` failed with {kind}{said and f': {said}'}. This is a fault of "
            "the tool, not of your call; try another way.",
            is_error=True,
        )

    def _conclude(
        self,
        job: Job | NotRun,
        outcome: _Outcome,
        cause: int,
        seconds: float = 0.0,
    ) -> CallResult:
        """Log the outcome and return the result."""
        if not isinstance(outcome, Admitted):
            outcome = self._admit(outcome, job)
        label = outcome.label
        if label == "reference" and isinstance(job, Job):
            label = getattr(job.tool, "label", label)
        name = clean_text(job.spec.name[:_NAME_CHARS])
        ended = ToolEnded(
            call=job.spec.call,
            name=name,
            content=outcome.content,
            is_error=outcome.is_error,
            seconds=round(seconds, 6),
            tokens=outcome.tokens,
            full_tokens=outcome.full_tokens,
            artifact=outcome.artifact,
            files=list(outcome.files),
            ends=outcome.ends,
            delivers=list(outcome.delivers),
            label="" if label == "reference" else label,
            changes=list(outcome.changes),
        )
        if not isinstance(job.spec.prior, OnRecord):
            self._log.append(ended, agent=job.context.agent, cause=cause)
        return CallResult(
            call=job.spec.call,
            name=name,
            content=outcome.content,
            is_error=outcome.is_error,
            ends=outcome.ends,
            value=outcome.value,
            tokens=outcome.tokens,
            delivers=outcome.delivers,
            label=label,
            files=outcome.files,
        )


def _text(output: ToolOutput | str) -> str:
    return output if isinstance(output, str) else output.text


def _said(error: Exception) -> str:
    """Return the message of an error on one line; one that has none has "" here."""
    words = ""
    with Fence():  # how it is told is the tool's, too
        words = str(error)
    return " ".join(words.split())


def _out_of_time(tool: Tool[Any], *, is_async: bool) -> ToolOutput:
    text = f"`{tool.name}` did not end within {tool.timeout_s:g} s"
    if is_async:
        text += " and was stopped."
    else:
        text += (
            ". It cannot be stopped, so it was left behind and its result is dropped; "
            "it may still be at work."
        )
    return ToolOutput(f"{text} Ask for less at a time.", is_error=True)
