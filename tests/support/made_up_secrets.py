"""Made-up secrets, put together from parts.

No line of this file looks like a key to a scanner of pushed files.
"""

from __future__ import annotations

import base64
import json

__all__ = ["FORMS", "KEY_BODY", "NAMED", "PASSWORD", "pem"]

PASSWORD = "hunt" + "er2"
_HEX = "9f8e7d6c" + "5b4a3f2e"
KEY_BODY = "MIIEpAIBAAKCAQEA" + "1234567890abcdefghijABCDEFGHIJ+/abcdefghijklmnop"


def _part(value: dict[str, str]) -> str:
    return base64.urlsafe_b64encode(json.dumps(value).encode()).decode().rstrip("=")


def pem(*, kind: str = "RSA ", lines: int = 3, newline: str = "\n") -> str:
    label = f"{kind}PRIVATE" + " KEY"
    begin, end = (f"-----{word} {label}-----" for word in ("BEGIN", "END"))
    return newline.join([begin, *[KEY_BODY] * lines, "AbCd==", end])


JWT = ".".join(
    [_part({"alg": "HS256"}), _part({"sub": "1"}), "SflKxwRJSMeKKF2QT4fwpMeJf36POk6yJ"]
)

# Kind and secret.
FORMS = {
    "aws": "AKIA" + "QWERTYUIOP123456",
    "github": "ghp" + "_" + "a1B2" * 9,
    "slack": "xoxb" + "-123456789012-123456789012-abcdefABCDEF",
    "stripe": "sk" + "_live_" + "a1b2c3d4e5f6g7h8i9j0k1l2",
    "jwt": JWT,
    "npm": "npm" + "_" + "a1B2" * 9,
    "sendgrid": "SG" + "." + "a1" * 11 + "." + "b1" * 21 + "c",
    "square": "sq0csp" + "-" + "a1" * 21 + "b",
    "twilio": "SK" + "a1" * 16,
    "mailchimp": "a1" * 16 + "-" + "us12",
    "discord": "M" + "a1" * 12 + "." + "b1" * 3 + "." + "c1" * 13 + "c",
    "anthropic": "sk-ant" + "-api03-abcdefghijklmnopqrstuvwxyz",
    "openai": "sk-proj" + "-a1b2c3d4e5f6g7h8i9j0k1l2",
    "google": "AI" + "za" + "a1B2_" * 7,
    "gitlab": "gl" + "pat-" + "a1B2_" * 4,
    "huggingface": "hf" + "_" + "a1B2c" * 7,
    "pypi": "pypi" + "-AgE" + "a1B2c" * 12,
    "digitalocean": "dop" + "_v1_" + "a1b2" * 16,
    "aliyun": "LT" + "AI" + "a1B2c3D4e5F6g7",
    "tencent": "AK" + "ID" + "a1B2c3D4" * 4,
}

# Text before, secret, text behind: the secret is known by what stands around it.
NAMED = {
    "double quotes": ('password = "', PASSWORD, '"'),
    "single quotes": ("PASSWORD='", PASSWORD, "'"),
    "bytes": ("passwd = b'", PASSWORD, "'"),
    "typed": ('password: str = "', PASSWORD, '"'),
    "yaml": ("  password: ", PASSWORD, ""),
    "ini": ("db_pwd = ", PASSWORD, "\n"),
    "shell": ("DB_PASSWORD=", "correct" + "horse", "\nNEXT=1"),
    "short name": ("DB_PASS=", "s3cr" + "3tpw", ""),
    "json": ('{"password":"', "p@ss" + "phrase!", '"}'),
    "letters only": ('{"passphrase": "', "correct" + "horsebattery", '"}'),
    "json in a string": ('"{\\"password\\": \\"', PASSWORD, '\\"}"'),
    "escaped quote in it": ('password = "', 'a1\\"b2c3', '"'),
    "option": ("tool --password ", PASSWORD, " x"),
    "option with equals": ("tool --db-password=", PASSWORD, ""),
    "xml": ("<password>", PASSWORD, "</password>"),
    "call": ('setPassword("', PASSWORD, '")'),
    "pair": ('map.put("password", "', PASSWORD, '")'),
    "comparison": ('if "', PASSWORD, '" == user.password:'),
    "prose": ("The password is ", PASSWORD, ". Keep it."),
    "log": ("login failed, password=", PASSWORD, ", user=x"),
    "chinese": ("密码: ", "abc1" + "23456", ""),
    "chinese colon": ("登录密码：", "abc1" + "23456", "，谢谢"),
    "chinese verb": ("口令为 ", "Abc@1" + "2345", "。"),
    "chinese quotes": ("密码是“", "abc1" + "23456", "”"),
    "chinese key": ("API 密钥：", _HEX, ""),
    "api key": ("api_key: ", _HEX, ""),
    "uuid": ("x-api-key: ", "550e8400-e29b-41d4" + "-a716-446655440000", ""),
    "arrow": ('client_secret => "', _HEX, '"'),
    "camel case": ('"accessToken": "', _HEX, '"'),
    "query": ("GET /x?access_token=", _HEX, "&page=1"),
    "django": ('SECRET_KEY = "', "dj#8n2k+l9" + "m@q1z7", '"'),
    "aws secret": ("aws_secret_access_key = ", "wJa1rXUtnFEM1/K7MDENG/" * 2, ""),
    "bearer": ("Authorization: Bearer ", "a1b2c3d4e5" + "f6g7h8zz", "\r\n"),
    "basic": ("authorization: Basic ", "dXNlcjpw" + "YXNzd29yZA==", ""),
    "url": ("postgres://app:", PASSWORD, "@db.local/x"),
    "url without user": ("redis://:", "s3c" + "ret!x", "@cache:6379"),
    "azure": (
        "DefaultEndpointsProtocol=https;AccountName=x;AccountKey=",
        "a1B2" * 21 + "ab==",
        ";",
    ),
    "npmrc": ("//registry/:_authToken=", "0a1b2c3d-" * 4, ""),
    "softlayer": ("softlayer_api_key = ", "a1b2" * 16, ""),
}
NAMED["aws secret"] = (NAMED["aws secret"][0], NAMED["aws secret"][1][:40], "")
