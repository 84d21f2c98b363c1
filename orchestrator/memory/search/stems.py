"""The stem of an English word, and words that say nothing of what is looked for.

Lighter than Porter's: plural, `-ing`, `-ed`, `-ion`, `-ment`, `-ly` and a final `e` go,
so that `caches`, `cached` and `caching` are one word while names stay apart.
"""

from __future__ import annotations

import re
from functools import lru_cache
from typing import Final

__all__ = ["STOP_WORDS", "WIDE_STOPS", "stem"]

STOP_WORDS: Final = frozenset(
    {
        "a", "about", "above", "after", "again", "all", "also", "am", "an",
        "and", "any", "anyone", "anything", "are", "as", "at", "be", "because",
        "been", "before", "being", "below", "between", "both", "but", "by",
        "can", "cannot", "could", "current", "currently", "did", "do", "does",
        "doing", "done", "down", "during", "each", "else", "every", "exactly",
        "few", "for", "from", "further", "get", "gets", "give", "go", "goes",
        "got", "had", "has", "have", "having", "he", "her", "here", "him",
        "his", "how", "i", "if", "in", "into", "is", "it", "its", "itself",
        "just", "know", "let", "like", "long", "lot", "make", "many", "may",
        "me", "might", "more", "most", "much", "must", "my", "need", "needs",
        "no", "nor", "not", "now", "of", "off", "ok", "on", "once", "one",
        "only", "or", "other", "our", "out", "over", "own", "please",
        "remember", "remind", "same", "say", "says", "she", "should", "so",
        "some", "someone", "something", "still", "such", "tell", "than", "that",
        "the", "their", "them", "then", "there", "these", "they", "thing",
        "things", "this", "those", "through", "to", "too", "under", "until",
        "up", "us", "use", "used", "uses", "using", "very", "want", "wants",
        "was", "we", "were", "what", "whatever", "when", "where", "whether",
        "which", "while", "who", "whom", "whose", "why", "will", "with",
        "without", "would", "you", "your", "yours",
    }
)  # fmt: skip
"""Left out of queries and of the index; within a name (`is_on`) they count."""

WIDE_STOPS: Final = re.compile(
    "什么时候|为什么|什么样|有没有|是不是|能不能|可不可以|怎么样|怎么办|多少钱|"
    "几点|几天|几次|几人|什么|怎么|怎样|如何|哪个|哪些|哪里|哪儿|哪种|哪台|哪位|哪|是否|多少|多久|几个|多大|"
    "我们|你们|他们|她们|咱们|大家|这个|那个|这些|那些|这里|那里|应该|需要|可以|能否|请问|"
    "现在|目前|一下|一个|关于|对于|以及|还是|或者|因为|所以|如果|已经|没有|谁|吗|呢|吧|啊|"
    "的|了|是|在|和|与|及|被|把|将|要|会|我|你|他|她|它|就|都|也|又|还|从|到|"
    "ですか|ますか|どうやって|なぜ|いつ|どこ|だれ|どの|どれ|です|ます|する|した|して|"
    "の|は|を|に|が|で|と|も"
)
"""Taken out of a query in Chinese or Japanese: what is left stands apart."""

_VOWEL: Final = re.compile(r"[aeiouy]")
_DOUBLE: Final = re.compile(r"([bdfgmnprt])\1$")


@lru_cache(maxsize=50_000)
def stem(word: str) -> str:
    """Return the stem of a word in small letters; what is not English stays."""
    if len(word) < 4 or not word.isascii() or not word.isalpha():
        return word
    word = _plural(word)
    word = _verb(word)
    for ending, least in (("ment", 3), ("ly", 4), ("ness", 4)):
        if word.endswith(ending) and len(word) - len(ending) >= least:
            word = word[: -len(ending)]
            break
    if len(word) > 5 and word.endswith(("tion", "sion")):
        word = word[:-3]
    if len(word) > 4 and word.endswith("e"):
        word = word[:-1]
    return word


def _plural(word: str) -> str:
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("sses", "shes", "ches", "xes", "zes")) and len(word) > 5:
        # `caches` and `cache`: the final `e` goes later.
        return word[:-2]
    if word.endswith("s") and not word.endswith(("ss", "us", "is")):
        return word[:-1]
    return word


def _verb(word: str) -> str:
    for ending in ("ing", "ed"):
        root = word[: -len(ending)]
        if word.endswith(ending) and len(root) > 2 and _VOWEL.search(root):
            return _DOUBLE.sub(r"\1", root)
    return word
