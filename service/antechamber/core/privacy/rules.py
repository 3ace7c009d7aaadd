"""The privacy rules: one entry for each kind of private value, based on the issuer's published format.

A rule is a pattern that RE2 runs in linear time, and a check of each match (a checksum, a reserved domain). If matches
may overlap or occur by the thousand, the rule's own search function replaces the check. To add a rule, add an entry
here and its examples to the tests.
"""

from collections.abc import Callable
from typing import Final

from msgspec import Struct

from antechamber.core.privacy import checks, numbers
from antechamber.core.privacy.effort import Effort


class Rule(Struct, frozen=True):
    """One kind of private value."""

    rule_id: str
    title: str
    pattern: str
    check: Callable[[str], bool] = checks.always
    search: Callable[[str, Effort], bool] | None = None
    """Returns whether a text that the pattern matches contains such a value; linear in time, replaces `check`."""
    spares_uuids: bool = False
    """Whether UUIDs (RFC 9562) are ignored: the digits of one in about 37,000 look like a card number."""


def _token(rule_id: str, title: str, pattern: str, check: Callable[[str], bool] = checks.always) -> Rule:
    """Return a rule whose pattern does not match inside a longer word."""
    return Rule(rule_id, title, r"(?:^|[^A-Za-z0-9_])(" + pattern + ")", check)


RULES: Final[tuple[Rule, ...]] = (
    Rule("private-key-pem", "private key in PEM form", r"(-----BEGIN (?:[A-Z0-9]+ )*PRIVATE KEY(?: BLOCK)?-----)"),
    Rule("private-key-putty", "PuTTY private key", r"(PuTTY-User-Key-File-[23]:)"),
    _token("private-key-age", "age identity", r"AGE-SECRET-KEY-1[02-9AC-HJ-NP-Z]{58}"),
    _token(
        "antechamber-token",
        "token, sign-in link or session of this service",
        r"ant[pralw]_[0-9A-Za-z]{36}",
        checks.own_token,
    ),
    _token("aws-access-key", "AWS access key id", r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z2-7]{16}"),
    _token("anthropic-key", "Anthropic API key", r"sk-ant-[a-z0-9]+-[A-Za-z0-9_-]{40,}"),
    _token("azure-storage-key", "Azure storage account key", r"AccountKey=[A-Za-z0-9+/]{86}=="),
    _token("digitalocean-token", "DigitalOcean token", r"do[opr]_v1_[0-9a-f]{64}"),
    _token("github-token", "GitHub token", r"gh[pousr]_[0-9A-Za-z]{36,}"),
    _token("github-fine-grained-token", "GitHub fine-grained token", r"github_pat_[0-9A-Za-z]{22}_[0-9A-Za-z]{59}"),
    _token("gitlab-token", "GitLab token", r"gl(?:pat|dt|rt|ptt|cbt|ft|soat)-[0-9A-Za-z_.-]{20,}"),
    _token("google-api-key", "Google API key", r"AIza[0-9A-Za-z_-]{35}"),
    _token("google-oauth-secret", "Google OAuth client secret", r"GOCSPX-[0-9A-Za-z_-]{28}"),
    _token("hashicorp-vault-token", "Vault token", r"hv[sbr]\.[0-9A-Za-z_-]{24,}"),
    _token("huggingface-token", "Hugging Face token", r"hf_[A-Za-z]{34}"),
    _token("json-web-token", "JSON web token", r"eyJ[0-9A-Za-z_-]{10,}\.eyJ[0-9A-Za-z_-]{10,}\.[0-9A-Za-z_-]{10,}"),
    _token("npm-token", "npm token", r"npm_[0-9A-Za-z]{36}"),
    _token(
        "openai-key", "OpenAI API key", r"sk-(?:proj-|svcacct-|admin-)?[0-9A-Za-z_-]{20,}T3BlbkFJ[0-9A-Za-z_-]{20,}"
    ),
    _token("pypi-token", "PyPI token", r"pypi-AgE[0-9A-Za-z_-]{50,}"),
    _token("sendgrid-key", "SendGrid API key", r"SG\.[0-9A-Za-z_-]{22}\.[0-9A-Za-z_-]{43}"),
    _token("slack-token", "Slack token", r"xox[abeoprs]-[0-9A-Za-z-]{10,}"),
    _token(
        "slack-webhook",
        "Slack webhook address",
        r"hooks\.slack\.com/services/T[0-9A-Z]{8,}/B[0-9A-Z]{8,}/[0-9A-Za-z]{20,}",
    ),
    _token("stripe-key", "Stripe secret key", r"[rs]k_live_[0-9A-Za-z]{16,}"),
    _token("telegram-bot-token", "Telegram bot token", r"[0-9]{8,10}:AA[0-9A-Za-z_-]{33}"),
    _token("twilio-key", "Twilio API key", r"SK[0-9a-f]{32}"),
    Rule(
        "url-password",
        "password inside an address",
        r"[A-Za-z][A-Za-z0-9+.-]*://([^\s/:@'\"<>]*:[^\s/@'\"<>]+@[A-Za-z0-9.-]+)",
        checks.real_password,
    ),
    Rule(
        "email-address",
        "e-mail address",
        r"([\pL\pN._%+-]+@(?:[\pL\pN-]+\.)+\pL[\pL\pN-]+)",
        search=checks.holds_address,
    ),
    Rule(
        "payment-card",
        "payment card number",
        r"(?:^|[^0-9A-Za-z.])([0-9](?:[ \x{a0}-]?[0-9]){12,18})(?:[^0-9A-Za-z]|$)",
        search=numbers.holds_card,
        spares_uuids=True,
    ),
    Rule(
        "iban",
        "international bank account number",
        r"(?:^|[^0-9A-Za-z])([A-Za-z]{2}[0-9]{2}(?:[ -]?[0-9A-Za-z]){11,30})",
        search=numbers.holds_iban,
        spares_uuids=True,
    ),
)
"""All rules; a policy may switch one off by its id."""
UNVERIFIED: Final = Rule(
    "too-many-look-alikes", "more look-alikes of private values than can be verified; split the text", ""
)
"""The finding if the effort of a scan is spent before the text is checked; no policy switches it off."""
TITLES: Final = {rule.rule_id: rule.title for rule in (*RULES, UNVERIFIED)}
