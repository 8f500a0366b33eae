"""Redaction of what coding agents write: secrets go, and identifiers, paths, revisions and times stay."""

from __future__ import annotations

import random
import string

import pytest

from each import each
from karat.online import Redaction

DIGEST = "3d0b7fdfa8c1e5972b4460d1f3e8a7c95b2d6e10"


@each(
    ("text", "expected"),
    [
        ("postgres://bob:s3cret@db/prod", "postgres://[login]@db/prod"),
        ("redis://:pw123@cache:6379/0", "redis://[login]@cache:6379/0"),
        ("mysql+pymysql://root:toor@db", "mysql+pymysql://[login]@db"),
        (
            "connect to mongodb+srv://ann:p%40ss@c1.example.net/x?w=1",
            "connect to mongodb+srv://[login]@c1.example.net/x?w=1",
        ),
        ("git clone https://bob:s3cret@git.example.com/x.git", "git clone https://[login]@git.example.com/x.git"),
        ("DATABASE_URL=postgresql://u:p@ss@10.0.0.7:5432/d", "DATABASE_URL=postgresql://[login]@10.0.0.7:5432/d"),
        ("amqp://guest:guest@localhost:5672//", "amqp://[login]@localhost:5672//"),
        ("(postgres://bob:a/b?c#d@db/prod)", "(postgres://[login]@db/prod)"),
        ("jdbc:oracle://scott:tiger@ora:1521/XE failed", "jdbc:oracle://[login]@ora:1521/XE failed"),
        ("ftp://u:1234@host/x", "ftp://[login]@host/x"),
        ("HTTPS://Ann:X@H:1/", "HTTPS://[login]@H:1/"),
        ("https://ghp_16C7e42F292c6912E7710c838347Ae178B4a@github.com/x", "https://[e-mail]/x"),
        ("key " + DIGEST, "key [key]"),
        ("export TOKEN_X " + DIGEST + "aa", "export TOKEN_X [key]"),
        ("AC" + "0123456789abcdef" * 2, "[key]"),
        ("wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY1", "[key]"),
        ("JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP", "[key]"),
        ("dGhpcyBpcyBhIHNlY3JldCBrZXkgZm9yIG5vYm9keQ==", "[key]"),
        ("k3jd9fkslqw8xzn2vbp0tyr6mhg4cea1", "[key]"),
        ("user_4f9a8b7c6d5e4f3a2b1c0d9e8f7a6b5c", "[key]"),
        ("AB12_CD34_EF56_GH78_IJ90_KL12_MN34_OP56", "[key]"),
        ("sk-proj-7Hq2mZ0xW9abcdefgh", "[key]"),
        ("sk_live_abcdefghijklmnop", "[key]"),
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a", "[key]"),
        ("github_pat_11ABCDEFG0abcdefghijkl_mnopqrstuvwxyz012345", "[key]"),
        ("glpat-abcdefghij1234567890", "[key]"),
        ("xoxb-123456789012-abcdef", "[key]"),
        ("npm_abcdefghijklmnopqrstuvwxyz0123456789", "[key]"),
        ("hf_abcdefghijklmnopqrstuvwxyzABCDEFGH", "[key]"),
        ("AKIAABCDEFGHIJKLMNOP", "[key]"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NSJ9.dozjgNryP4J3jVmNHl0w5N", "[key]"),
        ("password=handle_user_profile_update_event_v2", "password=[key]"),
        ("call 1701234567", "call [phone]"),
        ("my number is 1512345678", "my number is [phone]"),
        ("+1795034560", "[phone]"),
        ("4155552671", "[phone]"),
        ("1795034560 1795034561 ann", "[phone] ann"),
    ],
)
def test_secrets_go(text: str, expected: str) -> None:
    """A login in any address, and keys as they are made: drawn letters, whatever is beside them."""
    assert Redaction()(text) == expected


@each(
    "text",
    [
        "where is handle_user_profile_update_event_v2 defined",
        "where is parse_invoice_line_items_v3_from_email_body defined",
        "see migrations/0042_add_user_email_index.py",
        "src/components/checkout/PaymentMethodSelector2.tsx",
        "getUserProfileByIdAndTenantFromCache2",
        "decodeBase64StringAndVerifySha256Digest",
        "node_modules/@babel/plugin-transform-runtime",
        "UTF8_CHECK_ENABLED_FLAG_FOR_ALL_TENANTS_2",
        "logs/2026/11/18/billing_worker_20261118_error",
        "s3://acme-prod-logs/2026/11/18/billing.log.gz",
        "com.acme.billing.InvoiceServiceImplTest2",
        "com/acme/billing/internal/InvoiceServiceImplTest2",
        "https://github.com/acme/shop/pull/123",
        f"https://github.com/acme/shop/commit/{DIGEST}",
        f"git show {DIGEST}",
        f"commit {DIGEST} broke it",
        f"reverted (commit {DIGEST})",
        f"image@sha256:{DIGEST}{DIGEST[:24]}",
        "test_retry_policy_500_with_exponential_backoff",
        "skeleton_loader_component.tsx",
        "npm-install-missing-packages",
        "hf_hub_download_utils",
        "pk_user_email_constraint",
        "kubernetes pod billing-worker-7d9f8b6c5d-x2x4z",
        "feature/JIRA-1234-add-retry-to-billing-gateway",
        "terraform/modules/network/private_subnet_2b/main",
        "line 1234567890 of the log",
        "epoch 1795034560",
        "ts=1795034560.123, next 1795034999",
        "took from 1795034560123 to 1795034569999 ms",
        "http://localhost:8080/path/@scope/x",
        "https://cdn.example.org/npm/@babel/core@7.0.1",
        "ssh://git@host/x and http://[::1]:80/@me",
        "def retry(times: int = 3) -> None: raise ValueError",
        "user id 12345678 on 2026-11-18 at 10:30",
        "uuid 123e4567-e89b-12d3-a456-426614174000",
        "HTTP 500 in POST /api/v2/users/12345678/orders",
        "expected 3 got 4 at test_cart.py:117",
        "sha 3d0b7fdf16ad",
        "docker run -p 8080:80 acme/billing:2026.11.18",
    ],
)
def test_code_stays(text: str) -> None:
    """Otherwise nobody can tell what was asked, or find it in the index."""
    assert Redaction()(text) == text


@pytest.mark.parametrize(
    "alphabet",
    ["0123456789abcdef", string.ascii_lowercase + string.digits, string.ascii_uppercase + "234567",
     string.ascii_letters + string.digits, string.ascii_letters + string.digits + "+/_"],
)  # fmt: skip
@pytest.mark.parametrize("group", [0, 4, 8])
def test_letters_drawn_by_chance_are_no_words(alphabet: str, group: int) -> None:
    """None of a thousand keys of each kind is taken for an identifier, also in groups that signs divide."""
    draw, redact = random.Random(7), Redaction()
    kept = []
    for _ in range(1000):
        letters = "".join(draw.choices(alphabet, k=40)) + draw.choice("0123456789")
        text = "_".join(letters[place : place + group] for place in range(0, 40, group)) if group else letters
        if redact(text) == text and any(map(str.isdigit, text)):
            kept.append(text)
    assert kept == []
