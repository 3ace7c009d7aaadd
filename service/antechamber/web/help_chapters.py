"""The chapters of the help, and the chapter that belongs to each page of the desk."""

from typing import Final, NamedTuple


class Chapter(NamedTuple):
    """A document of the repository as a chapter of the help."""

    name: str
    """Last part of its address below `/help`; empty for the front page."""
    title: str
    file: str
    """Path in a checkout; links between documents are relative to it."""

    @property
    def address(self) -> str:
        """Return the path of its page."""
        return f"/help/{self.name}".removesuffix("/")


CHAPTERS: Final = (
    Chapter("", "Overview", "README.md"),
    Chapter("desk", "The desk", "templates/README.md"),
    Chapter("agents", "For agents", "service/antechamber/client/README.md"),
    Chapter("audit", "Audit", "service/antechamber/core/log/README.md"),
    Chapter("policies", "Policy files", "policies/README.md"),
    Chapter("service", "The service", "service/README.md"),
    Chapter("decisions", "Decisions", "service/DECISIONS.md"),
    Chapter("scripts", "Scripts and proofs", "scripts/README.md"),
    Chapter("tests", "Tests", "tests/README.md"),
)
PAGES: Final = {
    "/review": "/help/desk#the-queue",
    "/review/": "/help/desk#a-proposal",
    "/review/group": "/help/desk#the-queue",
    "/review/latest": "/help/desk#decisions",
    "/quarantine": "/help/desk#quarantine",
    "/memories": "/help/desk#memories",
    "/memories/propose": "/help/desk#approve-alone-and-propose",
    "/submissions": "/help/agents#answers-and-error-codes",
    "/audit": "/help/audit#sign-in-and-filter",
    "/dashboard": "/help/desk#dashboard-audit-and-live-updates",
    "/operations": "/help/service#run-it",
    "/settings": "/help/desk#keys",
    "/policy": "/help/policies#policy-files",
    "/schema": "/help/agents#http-with-curl",
}
"""Beginning of a page's path, and the heading that explains the page; the longest beginning counts."""


def help_address(path: str) -> str:
    """Return the address of the heading that explains a page; the front page of the help if there is none."""
    fitting = [beginning for beginning in PAGES if path.startswith(beginning)]
    return PAGES[max(fitting, key=len)] if fitting else CHAPTERS[0].address
