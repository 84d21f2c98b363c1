"""The layers that a request is made of, in a few groups."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

__all__ = ["GROUPS", "by_group", "group_of", "in_order"]

GROUPS: dict[str, tuple[str, ...]] = {
    "fixed": ("prompt", "tools", "task"),
    "kept": ("state", "notes", "summary", "subagents", "memory", "findings"),
    "results": ("results",),
    "stubs": ("stubs",),
    "said": ("assistant", "thinking"),
    "told": ("text",),
}
"""Layers of a request, in a few groups; one that is not known counts as `told`."""
_GROUP_OF = {layer: group for group, layers in GROUPS.items() for layer in layers}
_LATER_GROUP = "told"
_PLACES = {layer: at for at, layer in enumerate(_GROUP_OF)}


def group_of(layer: str) -> str:
    """Return the group that a layer of a request counts to."""
    return _GROUP_OF.get(layer.partition(":")[0], _LATER_GROUP)


def by_group(composition: Mapping[str, int]) -> dict[str, int]:
    """Return the tokens of a request by group of layers, all groups in their order."""
    sums = dict.fromkeys(GROUPS, 0)
    for layer, count in composition.items():
        sums[group_of(layer)] += count
    return sums


def in_order(layers: Iterable[str]) -> list[str]:
    """Return layers as they stand in a request, those that are not known last."""

    def place(layer: str) -> tuple[int, str]:
        return _PLACES.get(layer.partition(":")[0], len(_PLACES)), layer

    return sorted(layers, key=place)
