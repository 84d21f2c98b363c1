"""Settings from the environment, and which model each role uses.

Plain dataclasses and no import of the SDK: the reading commands and `--help` load
this module, and their start time is a contract.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from orchestrator.errors import SpecError

__all__ = [
    "FEATURES",
    "MOST_AT_ONCE",
    "OFFLINE",
    "HasModel",
    "ModelsChosen",
    "Settings",
    "bare_model",
    "choose_models",
]

OFFLINE = "offline"
FEATURES = ("cache_control", "thinking", "output_config", "diagnostics")
"""Optional fields of a request; an endpoint with the same API may lack any of them."""
MOST_AT_ONCE = 500
"""Requests of one model under way at the same time, where nobody says."""
_PREFIX = "anthropic:"
_ID = re.compile(r"[^\s:/\\]+(?:[:/][^\s:\\]+)*")
_OTHER_PROVIDERS = frozenset(
    {"azure", "bedrock", "cohere", "google", "groq", "mistral", "openai", "vertex"}
)


@dataclass(frozen=True, slots=True)
class Settings:
    """What holds for all runs of this user; `ORCHESTRATE_<NAME>` overrides each."""

    lead_model: str = "claude-sonnet-5-5"
    """`ORCHESTRATE_LEAD_MODEL`: the lead, where the task names no model."""
    subagent_model: str = "claude-haiku-5-5"
    """`ORCHESTRATE_SUBAGENT_MODEL`: subagents, where the task names no model."""
    runs_dir: Path = Path("runs")
    """`ORCHESTRATE_RUNS_DIR`: where run folders are made."""
    max_connections: int = MOST_AT_ONCE
    """`ORCHESTRATE_MAX_CONNECTIONS`: requests of one model under way at the same time,
    those of all runs of a process together; fewer where the service is overloaded."""
    endpoint_lacks: tuple[str, ...] = ()
    """`ORCHESTRATE_ENDPOINT_LACKS`: optional fields of a request to leave out."""
    prices: Path | None = None
    """`ORCHESTRATE_PRICES`: a YAML file with prices that win over the kept table."""
    memory_dir: Path | None = None
    """`ORCHESTRATE_MEMORY_DIR`: where memory is kept; None: in the workspace, and in
    the user's data folder."""
    embedder: str = ""
    """`ORCHESTRATE_EMBEDDER`: finds in memory by meaning too: `local`, or
    `openai:<model>` of an endpoint; "": by words alone."""
    embedder_url: str = ""
    """`ORCHESTRATE_EMBEDDER_URL`: of that endpoint, such as `https://host/v1`; its key
    is taken from `ORCHESTRATE_EMBEDDER_KEY` where it is used, and kept nowhere."""

    @classmethod
    def load(cls, env: Mapping[str, str]) -> Settings:
        """Return the settings that `env` asks for; an empty value counts as unset.

        Raises:
            SpecError: a value cannot be meant.
        """
        default = cls()

        def setting(name: str, otherwise: str) -> str:
            return env.get(f"ORCHESTRATE_{name}", "").strip() or otherwise

        runs_dir = Path(setting("RUNS_DIR", str(default.runs_dir)))
        connections = setting("MAX_CONNECTIONS", str(default.max_connections))
        prices = setting("PRICES", "")
        memory_dir = setting("MEMORY_DIR", "")
        return cls(
            lead_model=setting("LEAD_MODEL", default.lead_model),
            subagent_model=setting("SUBAGENT_MODEL", default.subagent_model),
            runs_dir=runs_dir.expanduser(),
            max_connections=_whole("ORCHESTRATE_MAX_CONNECTIONS", connections),
            prices=Path(prices).expanduser() if prices else None,
            memory_dir=Path(memory_dir).expanduser() if memory_dir else None,
            endpoint_lacks=_features(
                "ORCHESTRATE_ENDPOINT_LACKS", setting("ENDPOINT_LACKS", "")
            ),
            **_embedding(setting("EMBEDDER", ""), setting("EMBEDDER_URL", "")),
        )


def _whole(name: str, text: str) -> int:
    number = int(text) if text.isascii() and text.isdecimal() else 0
    if number < 1:
        raise SpecError(f"`{name}` must be a whole number from 1 up, got `{text}`")
    return number


def _features(name: str, text: str) -> tuple[str, ...]:
    """Return the features that a list names, blanks or commas between, sorted."""
    listed = set(text.replace(",", " ").split())
    for unknown in sorted(listed - set(FEATURES)):
        allowed = ", ".join(f"`{each}`" for each in FEATURES)
        raise SpecError(f"`{name}` names `{unknown}`; allowed are {allowed}")
    return tuple(sorted(listed))


def _embedding(embedder: str, url: str) -> dict[str, str]:
    """Return the two fields of an embedder.

    Raises:
        SpecError: there is no such embedder, or its endpoint is missing or no URL.
    """
    kind, colon, model = embedder.partition(":")
    if embedder not in ("", "local") and not (kind == "openai" and model.strip()):
        raise SpecError(
            "`ORCHESTRATE_EMBEDDER` must be `local` or `openai:<model>`, "
            f"got `{embedder}`"
        )
    if colon and not re.fullmatch(r"https?://[^\s/]+(?:/\S*)?", url):
        raise SpecError(
            "`ORCHESTRATE_EMBEDDER_URL` must be the address of the endpoint, such as "
            "`https://host/v1`, for an embedder `openai:<model>`"
        )
    return {"embedder": embedder, "embedder_url": url}


_NO_KEY: Final = (
    "the task names no model and no credentials were found; "
    "set ANTHROPIC_API_KEY to use a language model"
)
_NO_KEY_BUT_ADDRESS: Final = (
    "the task names no model and no credentials were found; ANTHROPIC_BASE_URL is not "
    "used without a key: set ANTHROPIC_API_KEY to use a language model (any value, for "
    "a server that asks for none)"
)


class _Roles(Protocol):
    @property
    def lead(self) -> str | None: ...
    @property
    def subagents(self) -> str | None: ...
    @property
    def summaries(self) -> str | None: ...


class HasModel(Protocol):
    """What `choose_models` needs to know of a task."""

    @property
    def model(self) -> _Roles:
        """Return the model the task names for each role, or None."""
        ...


@dataclass(frozen=True, slots=True)
class ModelsChosen:
    """The model of each role, as a bare id or `offline`, and why it was chosen."""

    lead: str
    subagents: str
    reason: str
    """One line for the user: which models, and why."""
    fallback: str = ""
    """Goes on in place of one that refused; "": none."""
    summaries: str = ""
    """Writes the summaries of compactions; "": each agent's own model."""
    judge: str = ""
    """Compares summaries with what they stand for; "": nobody does."""

    @property
    def is_offline(self) -> bool:
        """Return whether no language model is asked at all."""
        return self.lead == self.subagents == OFFLINE

    def of_profile(self, model: str | None, *, lead: bool = False) -> str:
        """Return the model for a profile that asks for `model`, or for none.

        A role that is offline stays offline: a profile cannot make a run spend.
        """
        role = self.lead if lead else self.subagents
        if role == OFFLINE or not model:
            return role
        return bare_model(model)


def bare_model(name: str, *, field: str = "model") -> str:
    """Return a model's id without `anthropic:` and outer blanks.

    Args:
        name: `anthropic:<id>`, a bare id, or `offline`.
        field: where it was written, for the message.

    Raises:
        SpecError: `name` is no model's name, or one of another provider.
    """
    stripped = name.strip()
    bare = stripped.removeprefix(_PREFIX).strip()
    if not bare:
        why = "is empty"
    elif stripped == bare and bare.partition(":")[0] in _OTHER_PROVIDERS:
        why = f"`{name}` is of another provider"
    elif not _ID.fullmatch(bare):
        why = f"`{name}` is no model"
    else:
        return bare
    raise SpecError(
        f"{why}; allowed are `anthropic:<id>`, a bare id and `{OFFLINE}`", field=field
    )


def choose_models(
    task: HasModel,
    settings: Settings,
    has_credentials: bool,
    *,
    has_endpoint: bool = False,
) -> ModelsChosen:
    """Return the model of each role, from the task, else from the settings.

    Args:
        task: may name a model for each role.
        settings: the user's.
        has_credentials: without them no model of the service is asked.
        has_endpoint: the user names the address of one.

    Raises:
        SpecError: what is named for a role is no model, or is one of the service, and
            there are no credentials; or summaries cannot be had from what is named.
    """
    given = task.model
    if given.lead is None and given.subagents is None:
        summaries = _summaries(given.summaries, is_offline=not has_credentials)
        if not has_credentials:
            why = _NO_KEY_BUT_ADDRESS if has_endpoint else _NO_KEY
            return ModelsChosen(OFFLINE, OFFLINE, _reason(OFFLINE, OFFLINE, why))
        return _defaults(settings, summaries)
    lead, subagents = (
        bare_model(default if model is None else model, field=f"model.{role}")
        for role, model, default in (
            ("lead", given.lead, settings.lead_model),
            ("subagents", given.subagents, settings.subagent_model),
        )
    )
    if given.subagents is None and lead == OFFLINE:
        subagents = OFFLINE
    elif given.lead is None and subagents == OFFLINE:
        lead = OFFLINE
    if not has_credentials:
        for role, model in (("lead", lead), ("subagents", subagents)):
            if model != OFFLINE:
                raise SpecError(_no_key(model), field=f"model.{role}")
    summaries = _summaries(given.summaries, is_offline=lead == subagents == OFFLINE)
    reason = _reason(lead, subagents, "as the task says")
    return ModelsChosen(lead, subagents, reason, summaries=summaries)


def _summaries(name: str | None, *, is_offline: bool) -> str:
    """Return the bare id of the model for summaries, or "" for each agent's own.

    Raises:
        SpecError: `name` is no model, or none that can read what others wrote.
    """
    if name is None:
        return ""
    bare = bare_model(name, field="model.summaries")
    if is_offline:  # no language model is asked for anything
        return ""
    if bare == OFFLINE:
        raise SpecError(
            f"`{OFFLINE}` cannot summarise the conversation of a language model; name "
            "another one or leave it out",
            field="model.summaries",
        )
    return bare


def _defaults(settings: Settings, summaries: str) -> ModelsChosen:
    lead, subagents = (
        bare_model(settings.lead_model),
        bare_model(settings.subagent_model),
    )
    why = "the defaults: the task names no model, and credentials were found"
    reason = _reason(lead, subagents, why)
    return ModelsChosen(lead, subagents, reason, summaries=summaries)


def _reason(lead: str, subagents: str, why: str) -> str:
    which = lead if lead == subagents else f"{lead}, subagents {subagents}"
    return f"model: {which} ({why})"


def _no_key(model: str) -> str:
    return (
        f"`{model}` needs credentials and none were found; set ANTHROPIC_API_KEY "
        "(or ANTHROPIC_AUTH_TOKEN; any value, for an endpoint of your own that asks "
        "for none), or use `model: offline`, which needs no key"
    )
