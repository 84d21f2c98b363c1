"""Secrets and personal numbers in the places where people leave them.

All are made up when asked for, from a seed: no file of the repository holds one.
"""

from __future__ import annotations

import base64
import json
import random
import string
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from made_up_secrets import JWT, pem

__all__ = [
    "Planted",
    "card_number",
    "planted_personal",
    "planted_secrets",
    "resident_id",
]

_LETTERS = string.ascii_letters + string.digits


@dataclass(frozen=True)
class Planted:
    """A text and what must not be left in it.

    Attributes:
        case: what the place is.
        text: realistic, some lines.
        value: the secret, as it stands there.
    """

    case: str
    text: str
    value: str


def planted_secrets(seed: int = 1) -> list[Planted]:
    """Return some two hundred secrets, each in a text of its own."""
    rng = random.Random(seed)
    return [
        Planted(f"{case}, {round_}", *made)
        for round_ in range(4)
        for case, make in _SECRETS.items()
        for made in [_filled(make, rng)]
    ]


def planted_personal(seed: int = 1) -> list[Planted]:
    """Return some hundred personal numbers, each in a text of its own."""
    rng = random.Random(seed)
    return [
        Planted(f"{case}, {round_}", *made)
        for round_ in range(3)
        for case, make in _PERSONAL.items()
        for made in [_filled(make, rng)]
    ]


def _filled(
    make: Callable[[random.Random], tuple[str, str]], rng: random.Random
) -> tuple[str, str]:
    template, value = make(rng)
    return template.replace("@@", value), value


def word(rng: random.Random, chars: int, alphabet: str = _LETTERS) -> str:
    """Return random characters, digits among them, a letter first."""
    made = "".join(rng.choice(alphabet) for _ in range(chars - 3))
    return f"k{made}{rng.randrange(10)}{rng.randrange(10)}"


def hexed(rng: random.Random, chars: int = 32) -> str:
    """Return random hexadecimal digits."""
    return rng.randbytes(chars // 2).hex()


def password(rng: random.Random) -> str:
    """Return what a person types, with a digit in it."""
    names = ["Winter", "tiger", "Kaffee", "blue", "Zhang", "lotus", "correct"]
    signs = ["!", "#", "_", "@", "$"]
    return f"{rng.choice(names)}{rng.choice(signs)}{rng.randrange(10, 9999)}x"


def _aws(rng: random.Random) -> str:
    return "AK" + "IA" + word(rng, 16, string.ascii_uppercase).upper()


def _github(rng: random.Random) -> str:
    return "gh" + "p_" + word(rng, 36)


def _k8s(rng: random.Random) -> tuple[str, str]:
    coded = base64.b64encode(word(rng, 20).encode()).decode()
    text = "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  db-password: @@\n"
    return text, coded


_SECRETS: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    ".env": lambda r: ("DEBUG=1\nDB_PASSWORD=@@\nPORT=80\n", password(r)),
    ".env, quoted": lambda r: ('export SECRET_KEY="@@"\nX=1\n', word(r, 40)),
    ".env, token": lambda r: ("SENTRY_AUTH_TOKEN=@@\n", hexed(r, 64)),
    ".env, words": lambda _: ("DB_PASSWORD=@@\n", "correct" + "horsebattery"),
    "YAML": lambda r: ("db:\n  host: x\n  password: @@\n  port: 1\n", password(r)),
    "YAML, quoted": lambda r: ('db:\n  passwd: "@@"\n', password(r)),
    "YAML, key": lambda r: ("stripe:\n  api_key: @@\n", hexed(r)),
    "JSON": lambda r: ('{"user": "app", "password": "@@"}', password(r)),
    "JSON, dense": lambda r: ('{"clientSecret":"@@","a":1}', word(r, 32)),
    "JSON in JSON": lambda r: (json.dumps({"body": '{"token": "@@"}'}), hexed(r)),
    "Python": lambda r: ('client = Client(api_key="@@")\n', word(r, 32)),
    "Python, name": lambda r: ("PASSWORD = '@@'\n", password(r)),
    "Python, dict": lambda r: ("conf = {'secret': '@@', 'n': 1}\n", word(r, 24)),
    "Python, header": lambda r: ('h = {"Authorization": "Bearer @@"}\n', word(r, 40)),
    "Go": lambda r: ('const apiToken = "@@"\n', hexed(r, 40)),
    "Go, struct": lambda r: ('cfg := Config{Password: "@@", Port: 1}\n', password(r)),
    "JavaScript": lambda r: ("const accessToken = '@@';\n", word(r, 36)),
    "Java": lambda r: ('props.setProperty("db.password", "@@");\n', password(r)),
    "C#": lambda r: ('var s = "Server=x;User Id=sa;Password=@@;";\n', word(r, 12)),
    "PHP": lambda r: ("define('DB_PASSWORD', '@@');\n", password(r)),
    "Ruby": lambda r: ("config.secret_key = '@@'\n", hexed(r, 64)),
    "INI": lambda r: ("[smtp]\nuser = me\npassword = @@\n", password(r)),
    "TOML": lambda r: ('[api]\ntoken = "@@"\n', word(r, 30)),
    "properties": lambda r: ("spring.datasource.password=@@\n", password(r)),
    "XML": lambda r: ("<server><password>@@</password></server>", password(r)),
    "log": lambda r: ("12:00 ERROR login failed password=@@ user=x\n", word(r, 12)),
    "log, URL": lambda r: ("GET /cb?access_token=@@&state=1 200\n", word(r, 40)),
    "log, JWT": lambda _: ("auth: got token @@ for user 5\n", JWT),
    "history, mysql": lambda r: ("mysql -u root --password=@@ db\n", word(r, 12)),
    "history, curl": lambda r: (
        "curl -H 'Authorization: Bearer @@' https://x.io/v1\n",
        word(r, 40),
    ),
    "history, curl key": lambda r: ("curl -H 'X-Api-Key: @@' x.io\n", hexed(r)),
    "history, export": lambda r: ("export GITHUB_TOKEN=@@\n", _github(r)),
    "docker-compose": lambda r: (
        "services:\n  db:\n    environment:\n      POSTGRES_PASSWORD: @@\n",
        password(r),
    ),
    "docker-compose, list": lambda r: (
        "    environment:\n      - MYSQL_ROOT_PASSWORD=@@\n",
        password(r),
    ),
    "Kubernetes, Base64": _k8s,
    "postgres": lambda r: ("postgres://app:@@@db:5432/x\n", word(r, 14)),
    "mongodb": lambda r: ("mongodb+srv://u:@@@c0.mongodb.net/?w=1\n", word(r, 14)),
    "redis": lambda r: ("redis://:@@@cache:6379/0\n", word(r, 16)),
    "amqp in YAML": lambda r: ("url: amqp://guest:@@@mq:5672\n", word(r, 10)),
    "AWS id": lambda r: ("aws_access_key_id = @@\n", _aws(r)),
    "AWS secret": lambda r: ("aws_secret_access_key = @@\n", word(r, 40)),
    "GitHub in a remote": lambda r: ("https://me:@@@github.com/a/b.git", _github(r)),
    "GitHub alone": lambda r: ("see @@ in the output", _github(r)),
    "Slack": lambda r: (
        "SLACK=@@\n",
        "xox"
        + f"b-{r.randrange(10**11, 10**12)}-{r.randrange(10**11, 10**12)}-"
        + word(r, 24),
    ),
    "Stripe": lambda r: ("stripe.key('@@')", "sk" + "_live_" + word(r, 24)),
    "Anthropic": lambda r: ("key @@\n", "sk-" + "ant-api03-" + word(r, 60)),
    "OpenAI": lambda r: ("key @@\n", "sk-" + "proj-" + word(r, 48)),
    "Google": lambda r: ("maps?key=@@\n", "AI" + "za" + word(r, 35)),
    "private key": lambda _: ("a\n@@\nb\n", pem()),
    "npmrc": lambda r: ("//r.io/:_authToken=@@\n", "npm" + "_" + word(r, 36)),
    "pypirc": lambda r: ("[pypi]\npassword = @@\n", "pypi-" + "AgE" + word(r, 60)),
    "netrc": lambda r: ("machine x.io login me password @@\n", password(r)),
    "Chinese, password": lambda r: ("登录密码：@@，请勿外传。", word(r, 10)),
    "Chinese, key": lambda r: ("接口密钥：@@", hexed(r)),
    "Chinese, sentence": lambda r: ("数据库的密码是 @@。", word(r, 12)),
    "Chinese, token": lambda r: ("访问令牌: @@\n", word(r, 32)),
    "Markdown": lambda r: ("| password | `@@` |\n", password(r)),
    "prose": lambda r: ("The password is @@ until Monday.", word(r, 12)),
    "curl -u": lambda r: ("curl -s -u admin:@@ https://x.io/api\n", word(r, 14)),
    "sshpass": lambda r: ("sshpass -p '@@' ssh root@10.0.0.1\n", password(r)),
    "sshpass, bare": lambda r: ("sshpass -p @@ ssh h\n", word(r, 12)),
    "mysql -p": lambda r: ("mysql -h db -u root -p@@ shop\n", word(r, 12)),
    "docker login": lambda r: ("docker login -u me -p @@ r.io\n", word(r, 20)),
    "PGPASSWORD": lambda r: ("PGPASSWORD=@@ psql -h db\n", password(r)),
    "cookie": lambda r: ("Cookie: lang=en; sessionid=@@\n", word(r, 32).lower()),
    "shared access": lambda r: (
        "https://x.blob.core.windows.net/c?sv=2022&sig=@@&se=1",
        word(r, 43) + "%3D",
    ),
    "Slack hook": lambda r: (
        "post to https://hooks.slack" + ".com/services/@@\n",
        f"T{word(r, 9).upper()}/B{word(r, 9).upper()}/{word(r, 24)}",
    ),
    "one-time": lambda r: (
        "otpauth://totp/x?secret=@@&issuer=y",
        word(r, 29, "ABCDEFGHIJ234567").upper() + "2A3",
    ),
    "Telegram": lambda r: (
        "bot @@ is up",
        f"{r.randrange(10**9, 10**10)}:AA" + word(r, 33),
    ),
    "CSV": lambda r: ("user,password\nann,@@\n", password(r)),
    "service account": lambda _: (
        json.dumps({"type": "service_account", "private_key": "@@"}),
        pem(newline="\\n"),
    ),
    "Sentry": lambda r: ("dsn=https://@@@o1.ingest.sentry.io/2", hexed(r)),
    "alone": lambda r: ("$ pass show db\n@@\n", word(r, 24)),
    "Terraform": lambda r: ('  admin_password = "@@"\n', password(r)),
    "Ansible": lambda r: ("ansible_ssh_pass: @@\n", password(r)),
}


def card_number(rng: random.Random, head: str = "4", digits: int = 16) -> str:
    """Return the number of a card that no bank has given out, with its check digit."""
    body = head + "".join(str(rng.randrange(10)) for _ in range(digits - len(head) - 1))
    doubled = [
        int(digit) if at % 2 else sum(divmod(2 * int(digit), 10))
        for at, digit in enumerate(reversed(body))
    ]
    return body + str(-sum(doubled) % 10)


def resident_id(rng: random.Random) -> str:
    """Return a Chinese resident id with its check digit."""
    born = (
        f"{rng.randrange(1950, 2010)}{rng.randrange(1, 13):02}{rng.randrange(1, 29):02}"
    )
    body = f"110105{born}{rng.randrange(1000):03}"
    weights = (7, 9, 10, 5, 8, 4, 2, 1, 6, 3, 7, 9, 10, 5, 8, 4, 2)
    total = sum(
        int(digit) * weight for digit, weight in zip(body, weights, strict=True)
    )
    return body + "10X98765432"[total % 11]


def mobile(rng: random.Random) -> str:
    """Return a Chinese mobile number."""
    return f"13{rng.randrange(5, 10)}{rng.randrange(10**7, 10**8 - 1) | 1}"


def american(rng: random.Random, form: str = "{}-{}-{}") -> str:
    """Return a number of the United States."""
    return form.format(
        rng.choice(["212", "415", "312"]),
        rng.randrange(230, 900),
        rng.randrange(1000, 9999),
    )


def address(rng: random.Random) -> str:
    """Return an e-mail address."""
    at = rng.choice(["acme.com", "mail.uni-x.de", "qq.com", "foo.co.uk"])
    return f"{rng.choice(['ann', 'j.smith', 'li_wei'])}{rng.randrange(99)}@{at}"


def iban(rng: random.Random) -> str:
    """Return a German account number with its check digits."""
    bank = f"37040044{rng.randrange(10**10):010}"
    return f"DE{98 - int(bank + '131400') % 97:02}{bank}"


def _spaced(number: str, *, gap: str = " ") -> str:
    return gap.join(number[at : at + 4] for at in range(0, len(number), 4))


def _wide(number: str) -> str:
    return "".join(chr(ord(digit) + 0xFEE0) for digit in number)


def _mobile_spaced(rng: random.Random) -> str:
    number = mobile(rng)
    return f"{number[:3]} {number[3:7]} {number[7:]}"


_PERSONAL: dict[str, Callable[[random.Random], tuple[str, str]]] = {
    "手机号": lambda r: ("联系人张三，手机号@@，请致电。", mobile(r)),
    "电话, colon": lambda r: ("电话：@@\n", mobile(r)),
    "mobile alone": lambda r: ("张三 @@ 北京\n", mobile(r)),
    "mobile in CSV": lambda r: ("name,tel\nzhang,@@,beijing\n", mobile(r)),
    "mobile in JSON": lambda r: ('{"user":"x","contact":"@@"}', mobile(r)),
    "mobile as a number": lambda r: ('{"phone":@@}', mobile(r)),
    "mobile, spaced": lambda r: ("call @@ please", _mobile_spaced(r)),
    "mobile, dashes": lambda r: (
        "打 @@ 找我",
        _mobile_spaced(r).replace(" ", "-"),
    ),
    "mobile with code": lambda r: ("手机 @@\n", "+86 " + mobile(r)),
    "mobile with code, log": lambda r: ("sms sent to @@ ok\n", "+86" + mobile(r)),
    "mobile, wide": lambda r: ("手机：@@。", _wide(mobile(r))),
    "landline": lambda r: ("电话 @@\n", f"010-6{r.randrange(10**6, 10**7)}"),
    "landline in a log": lambda r: (
        "fax to @@\n",
        f"0755-8{r.randrange(10**6, 10**7)}",
    ),
    "American": lambda r: ("Call @@ today.", american(r)),
    "American, brackets": lambda r: ("ring @@!", american(r, "({}) {}-{}")),
    "American with code": lambda r: ("from=@@ to=x", american(r, "+1{}{}{}")),
    "American, named": lambda r: ("phone: @@\n", american(r, "{}{}{}")),
    "American, dots": lambda r: ('"phone": "@@"', american(r, "{}.{}.{}")),
    "British": lambda r: ("ring @@ now", f"+44 20 7946 0{r.randrange(100, 999)}"),
    "German, named": lambda r: ("Tel. @@\n", f"030 2{r.randrange(10**6, 10**7)}"),
    "French, named": lambda r: ("mobile: @@", f"06 12 34 {r.randrange(10, 99)} 78"),
    "e-mail": lambda r: ("From: Ann <@@>\n", address(r)),
    "e-mail in a log": lambda r: ("login user=@@ ip=1.2.3.4\n", address(r)),
    "e-mail in JSON": lambda r: ('{"url":"http://x/","mail":"@@"}', address(r)),
    "e-mail, Chinese": lambda r: ("邮箱@@，谢谢", address(r)),
    "e-mail in a link": lambda r: ('<a href="mailto:@@">x</a>', address(r)),
    "card": lambda r: ("paid with @@ today", card_number(r)),
    "card, spaced": lambda r: ("card @@\n", _spaced(card_number(r, "51"))),
    "card, dashes": lambda r: ("x,@@,12/29", _spaced(card_number(r, "6011"), gap="-")),
    "card, Chinese": lambda r: ("银行卡号：@@", card_number(r, "6222", 19)),
    "card, Amex": lambda r: ('{"card_number":"@@"}', card_number(r, "37", 15)),
    "card in a log": lambda r: ("charge pan=@@ amount=9.99", card_number(r, "2221")),
    "身份证": lambda r: ("身份证号：@@", resident_id(r)),
    "身份证 in JSON": lambda r: ('{"id_card":"@@"}', resident_id(r)),
    "身份证 in CSV": lambda r: ("张三,@@,男\n", resident_id(r)),
    "IBAN": lambda r: ("IBAN: @@\n", iban(r)),
    "IBAN, spaced": lambda r: ("pay to @@ soon", _spaced(iban(r))),
    "SSN": lambda r: (
        "SSN: @@\n",
        f"536-{r.randrange(10, 99)}-{r.randrange(1000, 9999)}",
    ),
    "CPF": lambda r: ("CPF @@\n", "529.982." + "247-25"),
}


def parts_left(value: str, text: str) -> Iterator[str]:
    """Yield the pieces of a value that are left in a text, 8 characters each."""
    for at in range(max(1, len(value) - 7)):
        if value[at : at + 8] in text:
            yield value[at : at + 8]
