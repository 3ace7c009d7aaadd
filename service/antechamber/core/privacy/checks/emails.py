"""E-mail addresses that may belong to a person."""

import re
from collections.abc import Callable, Iterator
from typing import Final

from antechamber.core.privacy.effort import Effort

_RESERVED: Final = (
    ".example.com", ".example.net", ".example.org", ".example", ".invalid", ".localhost", ".test", ".local",
    ".internal", ".intranet", ".private", ".corp", ".home", ".lan", ".localdomain", ".arpa",
)  # fmt: skip
"""Domains that no person has (RFC 2606, RFC 6761, RFC 6762 with its appendix G; ICANN for `internal`)."""
_PROGRAMS: Final = (
    ".users.noreply.github.com", ".users.noreply.gitlab.com", ".gserviceaccount.com", ".compute.amazonaws.com",
    ".compute.internal", ".mongodb.net", ".mail.gmail.com", ".prod.outlook.com", ".email.amazonses.com",
)  # fmt: skip
"""Domains of addresses that belong to programs, hide a person's, or are ids of messages."""
_AUTOMATIC: Final = frozenset({"git", "noreply", "no-reply", "donotreply", "do-not-reply"})
"""Mailboxes of programs."""
_FILES: Final = (
    ".png", ".jpg", ".jpeg", ".gif", ".svg", ".webp", ".ico", ".css", ".js", ".json", ".html", ".htm", ".xml", ".yml",
    ".yaml", ".toml", ".txt", ".ts", ".tsx", ".jsx", ".pdf", ".lock", ".log", ".cfg", ".conf", ".ini", ".dll", ".exe",
    ".tgz", ".tar", ".gz", ".whl", ".service", ".timer", ".socket", ".mount", ".slice", ".scope", ".path",
)  # fmt: skip
"""Endings of names of files and of systemd's units, such as `logo@2x.png` and `getty@tty1.service`, none of which is a
top-level domain."""
_LOGIN: Final = re.compile(
    r"(?:\b(?:ssh|sftp|mosh|ssh-copy-id|autossh|sshfs)(?:[ \t]+-[A-Za-z]\S{0,30}(?:[ \t]+[^\s@-]\S{0,40})?){0,4}"
    r"[ \t]+[\"'`]?"
    r"|\b(?!mailto)[a-z][a-z0-9+.-]{1,20}://[^\s@/?#]{0,40})\Z",
    re.IGNORECASE,
)
"""The end of a text before the account and host of a login or of an address with a scheme."""
_LOGIN_REACH: Final = 90
"""Characters before an address that are searched for such a beginning."""
_MESSAGE: Final = re.compile(
    r"(?i:message-id|in-reply-to|references|content-id)[\"']?:[ \t]?(?:<[^<>\s]{1,120}>[ \t]?){0,3}<\Z"
)
"""What is before the id of a message, which has the form of an address (RFC 5322, section 3.6.4)."""
_REMOTE_PATH: Final = re.compile(r":(?:[\w~./-]*[/~]|(?:22|[0-9]{4,5})\b|[\w.-]+\.git\b)")
"""What follows a host and no mailbox: the path of scp and git, or a port."""
_ADDRESSES: Final = re.compile(r"(?<![\w.%+@-])[\w.%+'-]*+@[\w.%+@-]*+")
"""Runs of the characters of addresses, each matched from its beginning only, so that a text is read once."""
_DOMAIN: Final = re.compile(r"(?:(?:[^\W_]|-)++\.)+(?:[^\W\d_]{2,}|xn--[0-9a-z-]+)(?![\w-])")


def find_addresses(text: str, effort: Effort) -> Iterator[tuple[int, int]]:
    """Yield the spans of e-mail addresses, without those of reserved domains and automatic mailboxes.

    Raises EffortSpentError if that takes too many verifications.
    """
    for number, run in enumerate(_ADDRESSES.finditer(text)):
        # Most runs are one address, which takes half a unit.
        effort.spend(number & 1)
        for place, (start, end) in enumerate(_addresses_in(run[0])):
            effort.spend(place > 0)
            if _is_personal(run[0][start:end]) and not _is_login(text, run.start() + start, run.start() + end):
                yield run.start() + start, run.start() + end


def _addresses_in(run: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of the addresses of a run; each begins where the previous one ends."""
    start, sign = 0, run.find("@")
    while sign >= 0:
        following = run.find("@", sign + 1)
        domain = _DOMAIN.match(run, sign + 1, following if following >= 0 else len(run)) if sign > start else None
        if domain is not None:
            yield start, domain.end()
        start, sign = domain.end() if domain else sign + 1, following


def _is_login(text: str, start: int, end: int) -> bool:
    """Return whether an address names an account on a host, as `ssh` and `git` take it, or a message."""
    return (
        _REMOTE_PATH.match(text, end) is not None
        or _MESSAGE.search(text, max(0, start - _LOGIN_REACH), start) is not None
        or _LOGIN.search(text, max(0, start - _LOGIN_REACH), start) is not None
    )


def _is_personal(address: str) -> bool:
    local, _, domain = address.lower().rpartition("@")
    name = local.strip("'.%+-_")
    return bool(name) and name not in _AUTOMATIC and not f".{domain}".endswith((*_RESERVED, *_PROGRAMS, *_FILES))


SEARCHES: Final[dict[str, Callable[[str, Effort], Iterator[tuple[int, int]]]]] = {"email-addresses": find_addresses}
