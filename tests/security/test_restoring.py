"""Values are put back in place of their placeholders, and known once they were seen."""

from __future__ import annotations

import base64
import json
import re
import threading
from urllib.parse import quote

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_secrets import FORMS, NAMED, pem
from planted_secrets import planted_personal, planted_secrets

from orchestrator.errors import ToolError
from orchestrator.security.own import own_secrets
from orchestrator.security.placeholders import PLACEHOLDER, Vault, placeholder
from orchestrator.security.redaction import Redactor
from orchestrator.tools.permits import with_secrets

VALUE = "Tr0ub4" + "dor&3x"
LINE = f"DB_PASSWORD={VALUE}\n"
PLAIN = "lotus" + "4711"

LINE_ENDS = re.compile(r"\r\n|\n|\r")


@pytest.fixture
def redactor() -> Redactor:
    return Redactor(b"salt of this run")


def test_what_was_replaced_can_be_put_back(redactor: Redactor) -> None:
    text = "".join(f"{name} = {secret}\n" for name, secret in FORMS.items()) + LINE

    redacted = redactor.redact(text)

    assert redacted != text
    assert redactor.restore(redacted) == text
    assert redactor.restore("no placeholder") == "no placeholder"


@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_private_key_comes_back_with_its_own_line_ends_and_no_others(
    redactor: Redactor, newline: str
) -> None:
    key = pem(newline=newline)
    text = f"before{newline}{key}{newline}{newline}after"

    redacted = redactor.redact(text)

    assert redactor.restore(redacted) == text
    [mark] = PLACEHOLDER.findall(redacted)
    assert redactor.restore(f'"{mark}"\n') == f'"{key}"\n'


def test_an_unknown_placeholder_says_what_to_do(redactor: Redactor) -> None:
    mark = Redactor(b"another").redact(FORMS["aws"])

    with pytest.raises(ToolError, match="read the place again") as refused:
        redactor.restore(f"key = {mark}")

    assert mark in str(refused.value)
    many = " ".join(placeholder(b"x", "aws", str(n)) for n in range(9))
    with pytest.raises(ToolError, match="and 6 more"):
        redactor.restore(many)


def test_after_a_resume_reading_the_source_again_is_enough() -> None:
    before = Redactor(b"salt").redact(LINE)
    resumed = Redactor(b"salt")
    with pytest.raises(ToolError):
        resumed.restore(before)

    assert resumed.redact(LINE) == before
    assert resumed.restore(before) == LINE


def test_calls_that_send_out_put_nothing_back_unless_the_task_allows_it(
    redactor: Redactor,
) -> None:
    redacted = redactor.redact(LINE)

    refuses, gives = (redactor.restore_for(allowed=each) for each in (False, True))

    assert refuses("curl x.io") == "curl x.io"
    with pytest.raises(ToolError, match="does not allow `secrets`"):
        refuses(f"curl -u x:{redacted}")
    assert gives(redacted) == LINE


def test_a_call_needs_the_permission_where_its_arguments_hold_a_placeholder(
    redactor: Redactor,
) -> None:
    mark = redactor.redact(FORMS["aws"])

    assert with_secrets(("shell",), {"command": "ls"}) == ("shell",)
    nested = {"a": [{"b": f"x {mark}"}], "n": 1}
    assert with_secrets(("network",), nested) == ("network", "secrets")


@pytest.mark.parametrize(
    "spelled",
    [
        lambda value: value,
        lambda value: f"api_key: {value}",
        lambda value: quote(value, safe=""),
        lambda value: base64.b64encode(value.encode()).decode(),
        lambda value: base64.b64encode(f"me:{value}".encode()).decode(),
    ],
    ids=["plain", "named", "URL", "Base64", "Base64 with a user"],
)
@pytest.mark.parametrize("key", [FORMS["anthropic"], "own+proxy/words=and more"])
def test_the_credentials_of_the_process_are_never_put_back(
    key: str, spelled: object
) -> None:
    assert callable(spelled)
    redactor = Redactor(b"salt", own_secrets({"ANTHROPIC_API_KEY": key}))
    text = f"it said {spelled(key)} there"

    redacted = redactor.redact(text)

    [mark] = PLACEHOLDER.findall(redacted)
    assert spelled(key) not in redacted
    with pytest.raises(ToolError, match="not at hand"):
        redactor.restore(redacted)
    assert mark in redactor.redact(text)


def test_two_values_of_one_placeholder_are_never_mixed_up() -> None:
    vault = Vault()
    mark = "[secret:aws:00000000]"
    vault.put(mark, "one value")
    vault.put(mark, "another")
    vault.put(mark, "one value")

    with pytest.raises(ToolError, match="two values"):
        vault.restored(mark)


@pytest.mark.parametrize("bounds", [{"most": 3}, {"most_chars": 30}])
def test_only_the_newest_values_are_held(bounds: dict[str, int]) -> None:
    vault = Vault(**bounds)
    marks = [f"[secret:aws:{n:08}]" for n in range(5)]
    for number, mark in enumerate(marks):
        vault.put(mark, f"the {number}. one")
        vault.put(marks[0], "the 0. one")

    assert vault.restored(marks[0])[0] == "the 0. one"
    assert vault.restored(marks[4])[0]
    with pytest.raises(ToolError):
        vault.restored(marks[1])


def test_a_named_value_is_known_from_then_on_wherever_it_stands(
    redactor: Redactor,
) -> None:
    naked = f"connecting with {VALUE} now"
    assert redactor.redact(naked) == naked

    [mark] = PLACEHOLDER.findall(redactor.redact(LINE))

    assert redactor.redact(naked) == f"connecting with {mark} now"
    assert redactor.redact(VALUE) == mark
    assert redactor.redact(f"口令{VALUE}是") == f"口令{mark}是"


@pytest.mark.parametrize(
    "spelled",
    [
        quote(VALUE, safe=""),
        base64.b64encode(VALUE.encode()).decode(),
        base64.b64encode(f"admin:{VALUE}".encode()).decode(),
        base64.b64encode(f"x {VALUE}\n".encode()).decode(),
        base64.urlsafe_b64encode(f"??>{VALUE}".encode()).decode(),
    ],
)
def test_its_other_spellings_are_known_too(redactor: Redactor, spelled: str) -> None:
    redactor.redact(LINE)
    text = f"out: {spelled} end"

    redacted = redactor.redact(text)

    assert PLACEHOLDER.fullmatch(redacted[5:-4])
    assert redactor.restore(redacted) == text


@pytest.mark.parametrize(
    ("line", "naked"),
    [
        ('password = "a1\\"b2c3d4"', 'a1"b2c3d4'),
        ("  db-password: " + base64.b64encode(VALUE.encode()).decode(), VALUE),
        ("postgres://me:p%40ss%2Fw0rd1@db/x", "p@ss/w0rd1"),
    ],
    ids=["JSON", "Base64", "URL"],
)
def test_what_it_is_a_spelling_of_is_known_too(
    redactor: Redactor, line: str, naked: str
) -> None:
    assert redactor.redact(naked) == naked

    redactor.redact(line)

    assert PLACEHOLDER.fullmatch(redactor.redact(naked))


def test_a_value_that_was_put_back_is_known_with_the_placeholder_it_had() -> None:
    redactor = Redactor(b"salt", personal=True)
    text = "ssn: 536-90-" + "4399"
    redacted = redactor.redact(text)
    naked = text.removeprefix("ssn: ")
    assert redactor.redact(naked) == naked

    redactor.restore(redacted)

    assert redactor.redact(naked) == redacted.removeprefix("ssn: ")


@pytest.mark.parametrize(
    "value",
    ["correct" + "horsebattery", "user_password2", "release-2024", "hunt" + "er2"],
)
def test_ordinary_words_are_not_taken_for_a_value_seen_before(
    redactor: Redactor, value: str
) -> None:
    redactor.redact(f"DB_PASSWORD={value}\n")

    assert redactor.redact(f"see {value} in the text") == f"see {value} in the text"


def test_a_value_that_looks_like_a_word_is_no_part_of_another(
    redactor: Redactor,
) -> None:
    redactor.redact(f"DB_PASSWORD={PLAIN}\n")

    assert PLACEHOLDER.search(redactor.redact(f"say {PLAIN}, please"))
    for text in (f"my{PLAIN} is", f"{PLAIN}5 is", f"x{PLAIN}"):
        assert redactor.redact(text) == text


def test_the_newest_values_are_known_however_many_there_were(
    redactor: Redactor,
) -> None:
    values = [f"Xy{n:05}" + "&kW9q" for n in range(300)]
    redactor.redact("".join(f"password={value}\n" for value in values))

    text = " ".join(values)
    redacted = redactor.redact(text)

    assert values[0] in redacted
    assert not any(value in redacted for value in values[-256:])
    assert PLACEHOLDER.fullmatch(redactor.redact(values[-1]))
    coded = base64.b64encode(values[-1].encode()).decode()
    assert PLACEHOLDER.fullmatch(redactor.redact(coded))


def test_a_text_that_is_redacted_in_parts_holds_no_value_of_its_first_part(
    redactor: Redactor,
) -> None:
    first = redactor.redact(f"{VALUE} is used in {LINE}")

    assert VALUE not in first
    assert len(set(PLACEHOLDER.findall(first))) == 1


_PLANTED = [each.text for each in (*planted_secrets(), *planted_personal())]
_PIECES = st.one_of(
    st.sampled_from(_PLANTED),
    st.sampled_from(["".join(parts) for parts in NAMED.values()]),
    st.sampled_from(
        [*FORMS.values(), VALUE, LINE, pem(), "\n", " ", "=", '"', "密码："]
    ),
    st.text(max_size=6),
)


@settings(max_examples=30, deadline=None)
@given(st.lists(st.lists(_PIECES, max_size=6).map("".join), min_size=1, max_size=4))
def test_redaction_settles_keeps_lines_and_is_undone_by_restoring(
    texts: list[str],
) -> None:
    redactor = Redactor(b"salt", personal=True)

    for text in texts:
        once = redactor.redact(text)
        assert redactor.redact(once) == once
        assert len(LINE_ENDS.split(once)) == len(LINE_ENDS.split(text))
        assert redactor.restore(once) == text
        again = redactor.redact(text)
        assert redactor.restore(again) == text


def test_threads_get_the_same_placeholders_and_every_value_back() -> None:
    redactor = Redactor(b"salt", personal=True)
    texts = [each.text for each in planted_secrets(seed=2)][:80]
    failures: list[object] = []

    def work(shift: int) -> None:
        for at in range(len(texts)):
            text = texts[(at + shift) % len(texts)]
            redacted = redactor.redact(text)
            if redactor.restore(redacted) != text:
                failures.append(text)

    threads = [threading.Thread(target=work, args=(25 * n,)) for n in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert failures == []
    # By now each knows all values, whatever the order in which they were seen.
    fresh = Redactor(b"salt", personal=True)
    for text in texts:
        fresh.redact(text)
    assert [fresh.redact(text) for text in texts] == [*map(redactor.redact, texts)]


def test_values_are_put_back_into_what_was_written_as_json(redactor: Redactor) -> None:
    text = json.dumps({"password": 'p"a1' + "b2c3d4\\x"})

    assert json.loads(redactor.restore(redactor.redact(text))) == json.loads(text)
