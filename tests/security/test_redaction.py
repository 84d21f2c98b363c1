from __future__ import annotations

import re
import runpy
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from made_up_secrets import FORMS, KEY_BODY, NAMED, PASSWORD, pem

from orchestrator.security.formats import _windows
from orchestrator.security.numbers import long_numbers
from orchestrator.security.own import own_secrets
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.redaction import LEAST_CHARS, Redactor

LINE_ENDS = re.compile(r"\r\n|\n|\r")
REDACTOR = Redactor(b"salt of this run")

CLEAN = {
    "environment": "password = os.environ['DB_PASS1']",
    "type": "def login(token: str, password: Optional[str] = None) -> None:",
    "same name": "client = Client(api_key=api_key, password=pw1)",
    "call": "password = getpass.getpass('Password: ')",
    "method": 'data = password.encode("latin-1")',
    "attribute": "x.password = y.password2",
    "index": "token = tokens[i+1]",
    "changeme": 'password = "changeme123"',
    "your key": 'api_key = "<your-key-0123>"',
    "your": "api_key: your-api-key-1234",
    "xxx": "api_key: xxxxxxxx",
    "stars": "password=********",
    "dots": 'token = "abc123..."',
    "word for it": 'password = "password1"',
    "word": 'secret = "access_token_v2"',
    "blanks": 'password = "The password, 8 characters"',
    "number": "tokens: 12345678, max_tokens=8192",
    "format": "password = '%s'",
    "template": "password: ${{ secrets.DB_PASS2 }}",
    "variable": 'PASSWORD="$DB_PASS2"',
    "braces": 'url = "https://{user}:{password}@host/"',
    "example url": "see http://user:s3cret1@example.com/ or ftp://joe:password@x.org/",
    "about it": "password_hash_algorithm: sha256\ntokenType = 'bearer123'",
    "name of a variable": "api_key_env = 'OPENAI_API_KEY2'",
    "path": "private_key = '/etc/ssl/k3y.pem'\ntoken_dir = './t0k3ns/x1'",
    "file": "access_key: keys/key1.json",
    "expression": "pattern for token = r'[0-9a-f]{32}'",
    "group": "key_or_pass = r'(?:key|pwd|pa55word|token)'",
    "list of words": "FIELDS = ['password', 'user1234', 'token']",
    "money": "1000 tokens = $0.039/image",
    "tag": '<input type="password" name="pw1">',
    "comparison with a tag": "if password > limit123:",
    "css": ".sk-some-very-long-class-name-here { }",
    "bearer": "Bearer token-authentication-is-used here",
    "keyboard": "keyboard = 'qwertz1234'; monkey: banana12",
    "tokenizer": "tokenizer = 'cl100k_base1'",
    "comparison": "if a == b: password()",
    "chinese": "密码不能为空，请输入密码：（至少8位）",
    "public": "-----BEGIN PUBLIC KEY-----\nMIIB\n-----END PUBLIC KEY-----",
    "marker alone": 'BEGIN = "-----BEGIN PRIVATE' + ' KEY-----"\nEND = 1\n',
    "code between markers": '"-----BEGIN PRIVATE' + ' KEY-----"\n'
    "load(averylongnameofafunction)\n" + '"-----END PRIVATE' + ' KEY-----"',
    "checksum": 'azure account_key "integrity": "sha512-' + "a1B2" * 21 + 'ab=="',
    "form as documentation": "Account SID (AC" + "x" * 32 + ")",
    "three parts": "eyJhbGciOi" + "notjson.eyJzdWIiOi" + "notjson.abc",
    "company without a key": "aws draws laws and flaws; ibm",
    "company and something long": "aws key: see the chapter "
    "on/the/configuration/of/buckets/and/objects",
}


@pytest.mark.parametrize("kind", FORMS)
def test_a_secret_of_known_form_is_replaced_wherever_it_stands(kind: str) -> None:
    secret = FORMS[kind]
    alone = REDACTOR.redact(secret)

    assert PLACEHOLDER.fullmatch(alone)
    assert alone.startswith(f"[secret:{kind}:")
    for text in ("say {}\n", 'token = "{}"', "密钥：{}，好", '{{"api_key":"{}"}}'):
        assert REDACTOR.redact(text.format(secret)) == text.format(alone)


@pytest.mark.parametrize("case", NAMED)
def test_a_secret_is_known_by_what_stands_around_it(case: str) -> None:
    before, secret, behind = NAMED[case]

    redacted = REDACTOR.redact(before + secret + behind)

    assert secret not in redacted
    assert redacted.startswith(before)
    assert redacted.endswith(behind)
    assert PLACEHOLDER.fullmatch(redacted[len(before) : len(redacted) - len(behind)])
    assert REDACTOR.redact(redacted) == redacted


@pytest.mark.parametrize("case", CLEAN)
def test_what_is_no_secret_stays(case: str) -> None:
    assert Redactor(b"salt").redact(CLEAN[case]) == CLEAN[case]


def test_the_same_value_has_the_same_placeholder_in_every_place() -> None:
    text = f'password = "{PASSWORD}"\nDB_PWD={PASSWORD}\nftp://me:{PASSWORD}@h/\n'

    marks = PLACEHOLDER.findall(REDACTOR.redact(text))

    assert len(marks) == 3
    assert len(set(marks)) == 1


def test_other_values_and_other_runs_have_other_placeholders() -> None:
    text = f"password: {PASSWORD}"

    assert REDACTOR.redact(text) == Redactor(b"salt of this run").redact(text)
    assert REDACTOR.redact(text) != REDACTOR.redact(text + "1")
    assert REDACTOR.redact(text) != Redactor(b"another").redact(text)


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_a_private_key_goes_as_a_whole_and_lines_keep_their_numbers(
    kind: str, newline: str
) -> None:
    text = newline.join(["before", pem(kind=kind, newline=newline), "after", ""])

    redacted = REDACTOR.redact(text)

    assert redacted.count(newline) == text.count(newline)
    assert redacted.splitlines()[0] == "before"
    assert redacted.splitlines()[-1] == "after"
    assert redacted.splitlines()[1].startswith("[secret:private-key:")
    assert KEY_BODY not in redacted


def test_a_private_key_in_one_line_of_json_is_found() -> None:
    text = '{"key": "' + pem(newline="\\n") + '\\n", "x": 1}'

    redacted = REDACTOR.redact(text)

    assert KEY_BODY[:20] not in redacted
    assert redacted.endswith('\\n", "x": 1}')


def test_a_private_key_that_was_cut_or_numbered_is_found() -> None:
    lines = pem().split("\n")[:4]
    numbered = "\n".join(f"{n}\tk.pem-{n}-{line}" for n, line in enumerate(lines, 1))

    redacted = REDACTOR.redact(f"{numbered}\nand so on, a line of words\n")

    assert KEY_BODY not in redacted
    assert redacted.endswith("\nand so on, a line of words\n")
    assert redacted.count("\n") == 5


def test_a_putty_key_is_found() -> None:
    text = (
        "Public-Lines: 1\nAAAA\nPrivate-Lines: 2\n" + f"{KEY_BODY}\n" * 2 + "End: 1\n"
    )

    redacted = REDACTOR.redact(text)

    assert KEY_BODY not in redacted
    assert redacted.count("\n") == text.count("\n")
    assert redacted.endswith("End: 1\n")


def test_many_secrets_on_one_line_are_all_replaced() -> None:
    line = " ".join(f"{name}={secret}" for name, secret in FORMS.items())

    redacted = REDACTOR.redact(line * 3)

    assert len(PLACEHOLDER.findall(redacted)) == 3 * len(FORMS)
    assert not any(secret in redacted for secret in FORMS.values())


def test_a_secret_in_a_line_of_megabytes_is_found() -> None:
    filler = '{"a":1,"b":"some words"},' * 40_000

    redacted = REDACTOR.redact(filler + FORMS["github"] + filler)

    assert FORMS["github"] not in redacted
    assert redacted.startswith(filler)
    assert redacted.endswith(filler)


def test_letters_that_grow_in_lower_case_do_not_shift_anything() -> None:
    text = f"İİİ İ password: {PASSWORD} İ API_KEY=x {FORMS['aws']}"

    redacted = REDACTOR.redact(text)

    assert redacted.startswith("İİİ İ password: [secret:credential:")
    assert PASSWORD not in redacted
    assert "] İ API_KEY=x [secret:aws:" in redacted


def test_only_the_secret_goes_and_not_the_quotes_around_it() -> None:
    secret = "AKC" + "a1b2c3d4e5f6"

    redacted = REDACTOR.redact(f'artifactory "{secret}" x')

    assert redacted.startswith('artifactory "[secret:credential:')
    assert redacted.endswith(']" x')


def test_a_short_password_is_no_secret_and_a_long_one_without_digits_needs_signs() -> (
    None
):
    for text in ("password: a1b2", 'password = "a1b2"', 'password = "correct"'):
        assert REDACTOR.redact(text) == text


def test_half_characters_do_not_break_it() -> None:
    assert PASSWORD not in REDACTOR.redact(f'\ud83d password = "{PASSWORD}\ud83d"')


_PIECES = st.sampled_from(
    [
        *FORMS.values(),
        *("".join(parts) for parts in NAMED.values()),
        *CLEAN.values(),
        pem(),
        "[secret:aws:0123abcd]",
        *("password", "token", "secret:", "=", '"', "'", "\n", "\r\n", " ", "://", "@"),
    ]
)


@settings(max_examples=25, deadline=None)
@given(st.lists(st.one_of(_PIECES, st.text(max_size=8)), max_size=12).map("".join))
def test_doing_it_twice_changes_nothing_and_no_line_is_lost(text: str) -> None:
    once = REDACTOR.redact(text)

    assert REDACTOR.redact(once) == once
    assert once.count("\n") == text.count("\n")
    assert len(LINE_ENDS.split(once)) == len(LINE_ENDS.split(text))


_SHORT = st.sampled_from(
    [*"aB1!:=@'/ ", "口令", "密码", "是", "pwd", "key", "://", "sk-", "-us1", "eyJ"]
)


@settings(max_examples=300, deadline=None)
@given(st.lists(_SHORT, max_size=7).map("".join))
def test_no_secret_is_as_short_as_what_is_not_searched(text: str) -> None:
    assert REDACTOR._find(text[: LEAST_CHARS - 1]) == []


def test_false_alarms_are_rare_in_ordinary_source_code() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [
        path.read_text(encoding="utf-8") for path in sorted(library.glob("[a-m]*.py"))
    ]

    alarms = sum(len(PLACEHOLDER.findall(REDACTOR.redact(text))) for text in texts)

    assert alarms <= sum(map(len, texts)) / 100_000


def test_clean_text_does_not_load_the_detectors() -> None:
    code = (
        "import sys\n"
        "from orchestrator.security.redaction import Redactor\n"
        "redactor = Redactor(b'x')\n"
        "redactor.redact('token = next(tokens)  # password: str, x@b\\n' * 99)\n"
        "assert not any(name.startswith('detect_secrets') for name in sys.modules)\n"
        f"redactor.redact({FORMS['github']!r})\n"
        "assert 'detect_secrets' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)


def test_the_credentials_of_the_process_are_secrets_whatever_their_form() -> None:
    env = {
        "ANTHROPIC_API_KEY": "words-and-words",
        "ANTHROPIC_AUTH_TOKEN": "any",
        "ANTHROPIC_CUSTOM_HEADERS": "X-Team: research-and-more\nX-Key: Bearer a b-c-d",
        "ANTHROPIC_BASE_URL": "https://somebody:p%20ss+word@host/v1",
    }
    own = own_secrets(env)
    redactor = Redactor(b"salt", own)

    for value in ("words-and-words", "Bearer a b-c-d", "p%20ss+word", "p ss+word"):
        assert PLACEHOLDER.fullmatch(redactor.redact(value)), value
    for value in ("any", "research-and-more", "somebody", "words-and", "host"):
        assert redactor.redact(value) == value


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        ("it was words-and-wo…", False),
        ("it was words-and-wo", False),
        ("words-and-wood is plain", True),
        ("words-and-… is too short", True),
    ],
)
def test_a_credential_that_was_cut_off_is_one_still(text: str, is_left: bool) -> None:
    redactor = Redactor(b"salt", ["words-and-words"])

    assert (redactor.redact(text) == text) is is_left
    assert redactor.redact(redactor.redact(text)) == redactor.redact(text)


def test_a_credential_of_known_form_has_the_placeholder_of_its_form() -> None:
    for value in FORMS.values():
        assert Redactor(b"salt", [value]).redact(value) == Redactor(b"salt").redact(
            value
        )


def test_little_of_ordinary_text_gets_to_the_slow_checks() -> None:
    benchmark = Path(__file__).parents[1] / "benchmarks" / "redaction_cost.py"
    texts = runpy.run_path(str(benchmark))["texts"](100_000)

    looked_at = {
        name: sum(end - start for start, end in _windows(text, text.lower()))
        for name, text in texts.items()
    }
    numbers = {name: len(long_numbers(text)) for name, text in texts.items()}

    assert len(texts) >= 6
    assert max(looked_at.values()) < 2_000, looked_at
    assert max(numbers.values()) < 600, numbers
