"""Secrets that are known by their form: keys of services, tokens, private keys.

Most forms come from the detectors of `detect_secrets`, of which only the expressions
are used: no settings, no network. That library takes 0.1 s to import, so that it is
loaded when something in a text has the rough shape of a secret, and not before.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

__all__ = ["CREDENTIAL", "PRIVATE_KEY", "Span", "known_forms"]

CREDENTIAL = "credential"
"""Kind of what is a secret by its place and not by its form."""
PRIVATE_KEY = "private-key"

_WINDOW_CHARS = 4000
_LOOK_BACK_CHARS = 120


class Span(NamedTuple):
    """Where a secret is in a text."""

    start: int
    end: int
    kind: str


# A scan for words that begin with a rare letter is fast in one expression; one for
# words that begin with a common letter is faster as one search for each.
_RARE = re.compile(
    r"AKIA[0-9A-Z]{16}|ASIA[0-9A-Z]{16}|ABIA[0-9A-Z]{16}|ACCA[0-9A-Z]{16}"
    r"|A3T[0-9A-Z]{17}|AKC[a-zA-Z0-9]{10}|AC[a-z0-9]{32}|SK[a-z0-9]{32}"
    r"|SG\.[\w-]{22}\.|M(?<![\w-]M)[\w-]{23,25}\.[\w-]{6}\."
    r"|N(?<![\w-]N)[\w-]{23,25}\.[\w-]{6}\.|O(?<![\w-]O)[\w-]{23,25}\.[\w-]{6}\."
)
_COMMON = tuple(
    (literal, re.compile(form))
    for literal, form in (
        ("ghp_", r"ghp_\w{36}"),
        ("gho_", r"gho_\w{36}"),
        ("ghu_", r"ghu_\w{36}"),
        ("ghs_", r"ghs_\w{36}"),
        ("ghr_", r"ghr_\w{36}"),
        ("xox", r"xox[abposr]-\d"),
        ("hooks.slack.com", r"hooks\.slack\.com/services/T"),
        ("k_live_", r"k_live_[0-9a-zA-Z]{24}"),
        # Not within a word, or a long one would be read again from each `eyJ` in it.
        (
            "eyJ",
            r"eyJ(?:(?<![\w-]eyJ)|(?<=%[0-9A-F]{2}eyJ)|(?<=\\neyJ))"
            r"[\w=-]{8,8000}\.[\w=-]{4,}",
        ),
        ("npm_", r"npm_[A-Za-z0-9-]{36}"),
        ("_authToken", r"_authToken[\s\S]{0,5}?(?:NpmToken\.)?[a-z0-9-]{36}"),
        ("sq0csp-", r"sq0csp-[\w\\-]{43}"),
        ("-us", r"-us(?<=[0-9a-z]{32}-us)[0-9]"),
    )
)
# Secrets only in the company of these words, as far as the library goes.
_COMPANY = (
    *("aws", "azure", "account_key", "accountkey", "cloudant", "softlayer"),
    *("ibm", "artif", "jfrog", "buildkit"),
)
_KEY_NEAR = re.compile(r"key|token|pass|pwd|secret|://")
_LONG = re.compile(r"[A-Za-z0-9+/_=-]{24}")

# Module, class, kind of its secrets; `CREDENTIAL` where only the company tells.
_DETECTORS = (
    ("artifactory", "ArtifactoryDetector", CREDENTIAL),
    ("aws", "AWSKeyDetector", CREDENTIAL),
    ("azure_storage_key", "AzureStorageKeyDetector", CREDENTIAL),
    ("cloudant", "CloudantDetector", CREDENTIAL),
    ("discord", "DiscordBotTokenDetector", "discord"),
    ("github_token", "GitHubTokenDetector", "github"),
    ("ibm_cloud_iam", "IbmCloudIamDetector", CREDENTIAL),
    ("ibm_cos_hmac", "IbmCosHmacDetector", CREDENTIAL),
    ("jwt", "JwtTokenDetector", "jwt"),
    ("mailchimp", "MailchimpDetector", "mailchimp"),
    ("npm", "NpmDetector", "npm"),
    ("sendgrid", "SendGridDetector", "sendgrid"),
    ("slack", "SlackDetector", "slack"),
    ("softlayer", "SoftlayerDetector", CREDENTIAL),
    ("square_oauth", "SquareOAuthDetector", "square"),
    ("stripe", "StripeDetector", "stripe"),
    ("twilio", "TwilioKeyDetector", "twilio"),
)
_AWS_ID = re.compile(r"(?:A3T[A-Z0-9]|ABIA|ACCA|AKIA|ASIA)[0-9A-Z]{16}")
_HASH_BESIDE = re.compile(r"sha\d{3}|integrity", re.IGNORECASE)

# Forms that the library does not know. The literal is searched for first.
_OWN = tuple(
    (literal, re.compile(form), kind)
    for literal, form, kind in (
        ("sk-ant-", r"(?<![\w-])sk-ant-[\w-]{16,}", "anthropic"),
        (
            "sk-",
            r"(?<![\w-])sk-(?!ant-)(?=[\w-]*\d[\w-]*\d)(?:[a-z]{2,8}-)?[A-Za-z0-9]"
            r"[\w-]{19,}",
            "openai",
        ),
        ("AIza", r"(?<!\w)AIza[\w-]{35}", "google"),
        ("ya29.", r"(?<!\w)ya29\.[\w-]{20,}", "google"),
        ("GOCSPX-", r"GOCSPX-[\w-]{20,}", "google"),
        ("github_pat_", r"github_pat_\w{22,}", "github"),
        ("glpat-", r"glpat-[\w-]{20,}", "gitlab"),
        ("hf_", r"(?<!\w)hf_[A-Za-z0-9]{30,}", "huggingface"),
        ("pypi-", r"pypi-AgE[\w-]{50,}", "pypi"),
        ("xapp-", r"xapp-\d-[A-Z0-9]+-\d+-[a-z0-9]{16,}", "slack"),
        ("dop_v1_", r"dop_v1_[a-f0-9]{64}", "digitalocean"),
        (":AA", r"(?<!\w)\d{8,10}:AA[\w-]{33}(?![\w-])", "telegram"),
        ("LTAI", r"(?<!\w)LTAI[A-Za-z0-9]{12,26}(?!\w)", "aliyun"),
        ("AKID", r"(?<!\w)AKID[A-Za-z0-9]{28,40}(?!\w)", "tencent"),
    )
)
# A line of a key, maybe behind a line number or the name of its file.
_KEY_LINE = r"(?:[^\n]{0,300}?[\s:|>\"'-])?[A-Za-z0-9+/=]{40,}[\\n\"',;+]*[ \t\r]*"
_LAST_LINE = (
    r"(?:\S{0,200}?[:|>\t-][ \t]?)?(?=[a-z]*[A-Z0-9+/=])[A-Za-z0-9+/]{4,}={0,2}"
    r"[\"',;]*[ \t\r]*"
)
_PEM = re.compile(
    r"-----BEGIN (?P<what>[A-Z0-9 ]{0,30}PRIVATE KEY(?: BLOCK)?)-----"
    r"(?:(?:(?!-----)[\s\S]){0,40000}-----END (?P=what)-----"
    rf"|[^\n]{{0,20}}(?:\n(?:{_KEY_LINE}|[A-Z][A-Za-z-]+:[^\n]*|[ \t\r]*(?=\n)))+"
    rf"(?:\n{_LAST_LINE}(?=\n|\Z))?)"
)
_PUTTY = re.compile(r"Private-Lines: \d+\r?\n(?P<value>(?:[A-Za-z0-9+/=]{8,}\r?\n?)+)")
_CODE = re.compile(r"[(){};]")
_RUN = re.compile(r"[A-Za-z0-9+/=]{20}")


def known_forms(text: str, low: str) -> Iterator[Span]:
    """Yield the secrets in `text` that have a known form; they may overlap.

    Args:
        text: any text.
        low: `text` in lower case, character by character.
    """
    for literal, form, kind in _OWN:
        if literal in text:
            for match in form.finditer(text):
                yield Span(match.start(), match.end(), kind)
    yield from _private_keys(text)
    for start, end in _windows(text, low):
        yield from _by_library(text, start, end)


def _private_keys(text: str) -> Iterator[Span]:
    if "PRIVATE KEY" in text:
        for match in _PEM.finditer(text):
            body = match[0].split("-----", 2)[2]
            if _RUN.search(body) and not _CODE.search(body):
                yield Span(match.start(), match.end(), PRIVATE_KEY)
    if "Private-Lines:" in text:
        for match in _PUTTY.finditer(text):
            yield Span(*match.span("value"), PRIVATE_KEY)


def _windows(text: str, low: str) -> list[tuple[int, int]]:
    """Return the parts of `text` that the library should look at, in order."""
    hits = [match.span() for match in _RARE.finditer(text)]
    for literal, form in _COMMON:
        if literal in text:
            hits += [match.span() for match in form.finditer(text)]
    for word in _COMPANY:
        at = low.find(word)
        while at != -1:
            near = at + _LOOK_BACK_CHARS
            if _KEY_NEAR.search(low, at, near) and _LONG.search(text, at, near):
                hits.append((at, near))
            at = low.find(word, at + len(word))
    merged: list[tuple[int, int]] = []
    for start, end in sorted(hits):
        begin = text.rfind("\n", max(0, start - _LOOK_BACK_CHARS), start) + 1
        begin = begin or max(0, start - _LOOK_BACK_CHARS)
        stop = text.find("\n", end, end + _WINDOW_CHARS)
        stop = stop if stop != -1 else min(len(text), end + _WINDOW_CHARS)
        if merged and begin <= merged[-1][1]:
            begin, stop = merged[-1][0], max(stop, merged.pop()[1])
        merged.append((begin, stop))
    return merged


def _by_library(text: str, start: int, end: int) -> Iterator[Span]:
    part = text[start:end]
    is_hash_beside = _HASH_BESIDE.search(part) is not None
    for name, expressions, kind in _library():
        if name == "azure_storage_key" and is_hash_beside:
            continue
        for expression in expressions:
            for match in expression.finditer(part):
                first, last = _value_span(match)
                value = part[first:last]
                if "xxxxxx" in value or (name == "jwt" and not _is_jwt(value)):
                    continue
                found = "aws" if _AWS_ID.fullmatch(value) else kind
                yield Span(start + first, start + last, found)


def _value_span(match: re.Match[str]) -> tuple[int, int]:
    """Return where the secret is in a match: its longest group, or all of it."""
    first, last = max(
        (match.span(group) for group in range(1, (match.re.groups or 0) + 1)),
        key=lambda span: span[1] - span[0],
        default=(0, 0),
    )
    if last - first < 8:  # a group that only tells the variant
        first, last = match.span()
    text = match.string
    while first < last and text[first] in " \t\r\n\"'=:":
        first += 1
    while first < last and text[last - 1] in " \t\r\n\"'":
        last -= 1
    return first, last


@cache
def _library() -> tuple[tuple[str, tuple[re.Pattern[str], ...], str], ...]:
    return tuple(
        (module, tuple(_detector(module, name).denylist), kind)
        for module, name, kind in _DETECTORS
    )


def _detector(module: str, name: str) -> Any:  # noqa: ANN401 - the library is untyped
    return getattr(import_module(f"detect_secrets.plugins.{module}"), name)


def _is_jwt(value: str) -> bool:
    # The signature may have been cut off with the rest of a line.
    claims = ".".join(value.split(".")[:2])
    return bool(_detector("jwt", "JwtTokenDetector").is_formally_valid(claims))
