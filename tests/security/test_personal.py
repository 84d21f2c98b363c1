"""Personal numbers are found where people leave them, and nowhere else."""

from __future__ import annotations

import random
import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest
from planted_secrets import (
    card_number,
    parts_left,
    planted_personal,
    planted_secrets,
    resident_id,
)

from orchestrator.extras import is_installed
from orchestrator.security.personal import KINDS
from orchestrator.security.placeholders import PLACEHOLDER
from orchestrator.security.redaction import Redactor

MOBILE = "138" + "13812345"
MAIL = "ann@" + "acme.com"

CLEAN = {
    "times": "1700000000 1700000000000 1700000000000000 1700000000000000000",
    "dates": "2024-01-31 12:34:56,789 20240131123456 2024-01-31T12:34:56.123456Z",
    "named dates": "phone since 2024-01-31, tel 20240131, mobile: 2023.11.05",
    "versions": "10.15.7 1.2.3-4567890 v2024.1.31 numpy-1.26.4",
    "addresses": "tel 192.168.100.200 phone=10.0.0.1:8080 2001:db8::8a2e:370:7334",
    "uuid": "550e8400-e29b-41d4-a716-446655440000 00000000-0000-4111-8111-138123456789",
    "hashes": "d41d8cd98f00b204e9800998ecf8427e 4111111111111111abcdef0123456789",
    "sha": "commit 13812345678a4b2c1d0e9f8a7b6c5d4e3f2a1b0c",
    "fraction": "pi = 0.4111111111111111 or 3.13812345678 or 13812345678.25",
    "price": "$13812345678 or ￥13812345678 or 13812345678元",
    "sizes": "17179869184 16106127360 13812345678 bytes, 13812345678 KB",
    "named ids": 'id=13812345678 "order_id": "4111111111111111" trace: 13812345678',
    "named counts": "size: 13812345678 offset=15912345678 took 13812345678ns",
    "paths": "/users/13812345678 https://x.io/a/4111111111111111?b=1",
    "words": "user13812345678 13812345678px a_13812345678 order-13812345678",
    "longer": "138123456780 13812345678-1 13812345678.5.1 99:13812345678",
    "no card": "4111111111111112 4111 1111 1111 1112 1111111111111117",
    "table": "524C 525E 5261 4111 1111 1111 1111 5293 527F",
    "no resident": "11010519491231002Y 110105194912310021 123456789012345678",
    "no account": "DE00370400440532013000 AB12CDEF34567890",
    "short numbers": "call 911, tel 8888, phone 12345, 400-800",
    "git": "git clone git@github.com:a/b.git; ssh me@host.com:~/x",
    "URLs": "https://user@host.com/x ssh://me@host.com https://u:v@host.com:1/",
    "decorators": "@property\n@app.route\n@types/node react@18.2.0 left-pad@latest",
    "code": "c = a@b.T; x@self.w.data; y@m.shape(0) icon@2x.png image@sha256:ab",
    "mail of nobody": "me@example.com noreply@acme.com x@users.noreply.github.com",
    "decimal": "Decimal('+35236450.6') 1e+13812345678 a+12125551234",
    "hunks": "@@ -1234567,12 +1234567,15 @@",
    "zones": "+0800 +08:00 2024+0100",
    "telemetry": "telemetry 2125551234x iphone: 13 cellular 20000000000",
    "fax machine": "fax_count = 1234567; phone_id=9876543210123",
    "columns": "  12  345 6789  1012   1314\n 100 200 3000 4000",
}


@pytest.mark.parametrize("case", CLEAN)
def test_what_is_no_personal_number_stays(case: str) -> None:
    assert Redactor(b"salt", personal=True).redact(CLEAN[case]) == CLEAN[case]


@pytest.mark.parametrize("planted", [planted_secrets, planted_personal])
def test_what_people_leave_in_their_files_is_found(planted: object) -> None:
    assert callable(planted)
    places = planted(seed=7)
    missed = [
        each.case
        for each in places
        if any(parts_left(each.value, Redactor(b"s", personal=True).redact(each.text)))
    ]

    assert len(places) >= 100
    assert len({each.value for each in places}) > len(places) * 0.8
    # A bare value without a name, or with it in another line, cannot be known.
    assert {name.split(",")[0] for name in missed} <= {"CSV", "alone", "cookie"}
    assert len(missed) <= len(places) * 0.04


def test_personal_numbers_stay_where_nobody_asked_for_them() -> None:
    for each in planted_personal():
        assert Redactor(b"salt").redact(each.text) == each.text, each.case


@pytest.mark.parametrize(
    ("text", "kind"),
    [
        (f"mail {MAIL}", "email"),
        (f"手机 {MOBILE}", "phone"),
        (card_number(random.Random(1)), "card"),
        (resident_id(random.Random(1)), "id"),
        ("DE8937040044" + "0532013000", "iban"),
    ],
)
def test_a_placeholder_says_of_what_kind_it_is(text: str, kind: str) -> None:
    redacted = Redactor(b"salt", personal=True).redact(text)

    assert kind in KINDS
    assert f"[secret:{kind}:" in redacted
    assert len(PLACEHOLDER.findall(redacted)) == 1


def test_what_stands_around_a_number_stays() -> None:
    redactor = Redactor(b"salt", personal=True)
    mark = redactor.redact(MOBILE)
    mail = redactor.redact(MAIL)

    for around in (
        "（{}）",
        "1,{},x\n",
        '{{"tel":"{}"}}',
        "电话{}。",
        "tel:{}",
        "\\n{}\\n",
    ):
        assert redactor.redact(around.format(MOBILE)) == around.format(mark)
    for around in ("<{}>", "mailto:{}.", "邮箱{}，", '"{}"', "a={},b"):
        assert redactor.redact(around.format(MAIL)) == around.format(mail)
    assert redactor.redact(f"{MOBILE}/{MOBILE}") == f"{mark}/{mark}"


def test_identifiers_of_random_digits_are_rarely_taken_for_cards_or_persons() -> None:
    rng = random.Random(5)
    lines = [
        f"req {rng.randrange(10 ** (chars - 1), 10**chars)} done"
        for chars in (10, 12, 13, 14, 15, 16, 17, 18, 19)
        for _ in range(300)
    ]

    redacted = Redactor(b"salt", personal=True).redact("\n".join(lines))

    assert len(PLACEHOLDER.findall(redacted)) <= len(lines) * 0.01


def test_false_alarms_are_rare_in_ordinary_source_code() -> None:
    library = Path(sysconfig.get_paths()["stdlib"])
    texts = [
        path.read_text(encoding="utf-8") for path in sorted(library.glob("[a-m]*.py"))
    ]
    redactor = Redactor(b"salt", personal=True)

    found = [mark for t in texts for mark in PLACEHOLDER.findall(redactor.redact(t))]

    # The addresses of its authors are what was asked for.
    alarms = [mark for mark in found if not mark.startswith("[secret:email:")]
    assert len(alarms) <= sum(map(len, texts)) / 100_000
    assert len(found) > len(alarms)


def test_clean_text_does_not_load_the_libraries() -> None:
    code = (
        "import sys\n"
        "from orchestrator.security.redaction import Redactor\n"
        "redactor = Redactor(b'x', personal=True)\n"
        "redactor.redact('at 2026-11-30 12:00 id 1234567 tel a@b\\n' * 99)\n"
        "loaded = {name.partition('.')[0] for name in sys.modules}\n"
        "assert not loaded & {'phonenumbers', 'stdnum'}, loaded\n"
        f"redactor.redact({MOBILE!r})\n"
        "assert 'phonenumbers' in sys.modules\n"
    )

    subprocess.run([sys.executable, "-c", code], check=True)
    assert is_installed("personal")
