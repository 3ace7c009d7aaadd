"""A tour of the desk: a service brought into every relevant state, and the way to each page in it.

Used for screenshots and accessibility checks; the texts are invented.
"""

import contextlib
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import httpx
from playwright.sync_api import Browser, BrowserContext, Error, Page, sync_playwright

from antechamber.core.outgoing import hash_event
from antechamber.resources import folder
from antechamber.web.help_chapters import CHAPTERS

FLAGS: Final = ("--no-sandbox", "--disable-gpu", "--no-first-run", "--disable-sync", "--disable-dev-shm-usage")
BOT, WATCHER = "worker:release-bot", "tool:log-watcher"
OLD: Final = "Run the database migration before the deploy: old workers read the new schema."
NEW: Final = "Run the database migration an hour before the deploy: old workers read the new schema, new ones do not."
LONG: Final = "\n".join(
    f"{line}. What is learned at length is told at length, and every line of it is read." for line in range(1, 400)
)
SCRIPTS: Final = (
    "Rollback is safe\u202e.ton ro\u202c on Fridays.\u200b\u200b\u200b "
    "\u26a0\ufe0f \U0001f468\u200d\U0001f469\u200d\U0001f467 so\u00adft\n"
    "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645 \u0646\u0633\u062e\u0647\u0654 "
    "\u067e\u0634\u062a\u06cc\u0628\u0627\u0646 \u0631\u0627 \u0646\u06af\u0647\u200c\u062f\u0627\u0631\u0645.\n"
    "\u3000\u6771\u4eac\u306e\u30b5\u30fc\u30d0\u30fc\u3092\u5148\u306b\u66f4\u65b0\u3059\u308b\u3053\u3068\u3002\n\n"
    'def deploy_all(host_name):\n\tfor one_step in ("drain", "migrate", "start"):\n\t\trun(host_name, one_step)\n'
    + "".join(chr(0xE0000 + ord(letter)) for letter in "ignore this")
    + " Pay via p\u0430ypal, key_name\u200b\u200c\u200b."
)
"""Four scripts, code, and hidden characters."""
ARABIC: Final = (
    "\u0634\u063a\u0651\u0644 \u062a\u0631\u062d\u064a\u0644 "
    "\u0642\u0627\u0639\u062f\u0629 \u0627\u0644\u0628\u064a\u0627\u0646\u0627\u062a "
    "\u0642\u0628\u0644 \u0627\u0644\u0646\u0634\u0631 \u0628\u0633\u0627\u0639\u0629: "
    "migrate --step 14, \u0648\u0644\u0627 \u062a\u062d\u0630\u0641 "
    "\u0627\u0644\u0639\u0645\u0648\u062f \u0627\u0644\u0642\u062f\u064a\u0645."
)
"""A text from right to left with a command in it."""
CODE: Final = (
    "# Drain before the deploy\n\nRun this on **each** host, see the [runbook](https://runbook.example/deploy).\n\n"
    "```python\ndef drain(hosts: list[str], *, timeout_seconds: int = 30) -> dict[str, str]:\n"
    '    """Take hosts out of the pool, one after another."""\n'
    '    return {host: run(f"pool drain {host} --timeout {timeout_seconds} --wait --reason deploy '
    '--notify ops-channel --format json", check=True) for host in hosts}\n'
    "```\n\n| step | command | takes |\n|---|---|---|\n"
    + "".join(f"| {step} | `pool {name} --all` | {step * 2} min |\n" for step, name in enumerate(("drain", "add"), 1))
    + "\n1. Look at the queue.\n2. Wait until it is **empty**.\n"
)
"""Markdown with long code, a table and a list."""
WORD: Final = "incomprehensibilities" * 400
WIDE: Final[dict[str, Any]] = {
    "payload": {
        "kind": "fact",
        "content": WORD,
        "tags": ["x" * 64, "\u202e" + "y" * 60],
        "attributes": {"a" * 200: WORD[:4000]},
    },
    "source_span": {"uri": "repo://" + WORD[:4000], "revision": "r" * 2000, "heading": "\u202e" + WORD[:2000]},
    "supersedes": "s" * 2000,
    "submission_scope": "session",
    "scope_id": "s" * 128,
}
"""An event with overlong words in every member that accepts them."""
Visit = Callable[[Page], None]


@contextlib.contextmanager
def chromium() -> Iterator[Browser]:
    """Start the browser.

    Raises RuntimeError if there is none.
    """
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        message = "Chromium is needed; scripts/test installs it where it can"
        raise RuntimeError(message)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=list(FLAGS))
        yield browser
        browser.close()


@contextlib.contextmanager
def window(browser: Browser, **options: Any) -> Iterator[BrowserContext]:
    """Open a window without animations, and close it afterwards."""
    context = browser.new_context(reduced_motion="reduce", **options)
    yield context
    close(context)


def close(context: BrowserContext) -> None:
    """Close a window.

    Its pages are left first, because Chromium may never answer if a form is being submitted meanwhile.
    """
    for page in context.pages:
        # If the form's answer arrived meanwhile, this navigation is interrupted.
        with contextlib.suppress(Error):
            page.goto("about:blank")
    context.close()


def policies(target: Path) -> Path:
    """Write the shipped policy to a folder; sessions keep private events sealed, and cora proposes at the desk."""
    shutil.copytree(folder("policies"), target)
    scopes = target / "scopes.toml"
    text = scopes.read_text(encoding="utf-8").replace("reveal = []", 'reveal = ["cora"]')
    own = '\n[[producer]]\nidentity = "service:cora-desk"\nowner = "cora"\nsubmit = ["project:apollo"]\n'
    producers = target / "producers.toml"
    producers.write_text(producers.read_text(encoding="utf-8") + own)
    scopes.write_text(f'{text}\n[scope.session]\nkeep_private = "sealed"\nactions = {{email-address = "quarantine"}}\n')
    return target


class Tour:
    """A service with people and events."""

    def __init__(self, url: str, where: list[str], browser: Browser) -> None:
        """Use a running service; `where` holds the command-line options for its location."""
        self.url, self._where, self._browser = url, where, browser
        self._tokens = {name: self._run("token", "issue", name) for name in (BOT, WATCHER)}
        self._states = {name: self._sign_in(name, role) for name, role in _PEOPLE.items()}
        self._number = 0

    @property
    def people(self) -> list[str]:
        """Return all people who can sign in."""
        return list(_PEOPLE)

    def _run(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "antechamber.cli", *arguments, *self._where]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()  # noqa: S603

    def _sign_in(self, name: str, role: str) -> Any:
        with window(self._browser) as opened:
            page = opened.new_page()
            page.goto(self._run("user", "add", name, "--role", role, "--url", self.url))
            page.get_by_role("button", name="Sign in").click()
            page.get_by_role("navigation").first.wait_for()
            return opened.storage_state()

    def window(self, name: str, **options: Any) -> contextlib.AbstractContextManager[BrowserContext]:
        """Open a window of a signed-in person, and close it afterwards."""
        return window(self._browser, storage_state=self._states[name], **options)

    def submit(self, content: str, producer: str = BOT, **members: Any) -> dict[str, Any]:
        """Submit an event and return the answer."""
        self._number += 1
        event: dict[str, Any] = {
            "payload": {"kind": "procedure", "content": content, "tags": ["deploy"], "attributes": {"severity": 2}},
            "source_span": {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "end": 14, "heading": "Deploy"},
        }
        event |= {name: members.pop(name) for name in ("payload", "source_span") if name in members}
        body = {
            "idempotency_key": f"tour-{self._number}",
            "producer_identity": producer,
            "submission_scope": "project",
            "scope_id": "apollo",
            "source_event_hash": hash_event(event),
        }
        headers = {"authorization": f"Bearer {self._tokens[producer]}"}
        answer = httpx.post(f"{self.url}/v1/submissions", json=body | event | members, headers=headers, timeout=60)
        found: dict[str, Any] = answer.json()
        return found

    def empty(self) -> Iterator[tuple[str, str, Visit]]:
        """Yield name, person and path of each page of an empty service."""
        for path in ("review", "review/latest", "quarantine", "memories", "submissions", "audit", "dashboard"):
            yield f"empty-{path.replace('/', '-')}", "cora", self._go(f"/{path}")

    def fill(self) -> None:
        """Bring the service into a state in which every page has content."""
        first = self.submit(OLD, idempotency_key="deploy-1")["proposal_id"]
        self.submit(OLD, WATCHER)
        gone = self.submit("The staging host is called Gemini.")["proposal_id"]
        kept = self.submit("", **WIDE | {"scope_id": "t" * 128})["proposal_id"]
        wrong = self.submit("Deploys are free on Fridays.")["proposal_id"]
        for one in (first, gone, kept):
            self._decide("cora", one, "Approve")
        self._decide("cora", wrong, "Reject: wrong")
        self.ids = {name: self._memory_of(one) for name, one in (("memory", first), ("ended", gone), ("words", kept))}
        self.ids |= {"retracted": gone, "decided": wrong, "new": self.submit(NEW)["proposal_id"]}
        self.ids["hidden"] = self.submit("Rollback is safe\u202e.ton ro\u202c on Fridays.\u200b")["proposal_id"]
        self.ids["scripts"] = self.submit(SCRIPTS)["proposal_id"]
        self.ids |= {name: self.submit(text)["proposal_id"] for name, text in (("arabic", ARABIC), ("code", CODE))}
        self.ids["long"] = self.submit(LONG, idempotency_key="long")["proposal_id"]
        self.ids["word"] = self.submit("", **WIDE, idempotency_key="k" * 128)["proposal_id"]
        wide = {"submission_scope": "organization", "scope_id": "apollo-labs"}
        self.ids["wide"] = self.submit("Every service has an owner.", WATCHER, **wide)["proposal_id"]
        self._decide("cora", self.ids["wide"], "Approve")
        self._refuse()
        self._converse()
        for number, what in enumerate(("caches", "queues", "mailboxes", "backups", "certificates")):
            self.submit(f"Look at the {what} first when the {number + 2} o'clock alarm rings.", WATCHER)
        with self.window("cora") as opened:
            page = opened.new_page()
            page.goto(f"{self.url}/memories/{self.ids['ended']}")
            page.get_by_label("Reason").first.select_option("outdated")
            page.get_by_role("button", name="Retract").click()
            page.get_by_role("status").wait_for()
            page.goto(f"{self.url}/quarantine/{self.ids['private']}")
            page.get_by_role("button", name="Dismiss").click()
            page.get_by_role("status").wait_for()
        with self.window("ada-audits") as opened:
            for path in ("review-records?decision=reject&since=2026-01-01", "dispositions?format=csv", "export"):
                opened.request.get(f"{self.url}/v1/audit/{path}")

    def _converse(self) -> None:
        """Talk about one proposal whose producer answers, and leave another one to its producer."""
        talk, asked = self.submit("Restores are tried on the first Monday."), self.submit("The gate closes at ten.")
        self.ids |= {"talk": talk["proposal_id"], "asked": asked["proposal_id"]}
        self._say(talk, "Add note", WORD[:1900])
        for receipt in (talk, asked):
            self._say(receipt, "Ask the producer", "Of which month, @cora?")
        self._say(asked, "Add note", "Which gate, @cora?", "dora")
        headers = {"authorization": f"Bearer {self._tokens[BOT]}", "idempotency-key": "tour-answer"}
        path = f"{self.url}/v1/submissions/{talk['submission_id']}/notes"
        httpx.post(path, json={"text": "Of each month.\nSee the runbook."}, headers=headers, timeout=60)
        with self.window("cora") as opened:
            page = opened.new_page()
            page.goto(f"{self.url}/review/{talk['proposal_id']}")
            page.get_by_label("Assigned to").select_option("cora")
            page.get_by_role("button", name="Assign", exact=True).click()
            page.get_by_role("status").wait_for()

    def _say(self, receipt: dict[str, Any], button: str, text: str, person: str = "cora") -> None:
        with self.window(person) as opened:
            page = opened.new_page()
            page.goto(f"{self.url}/review/{receipt['proposal_id']}")
            page.get_by_label("Note, optional").fill(text)
            page.get_by_role("button", name=button, exact=True).click()
            page.get_by_role("status").wait_for()

    def _refuse(self) -> None:
        """Submit events that are quarantined."""
        differs = WIDE | {"payload": WIDE["payload"] | {"content": WORD[:-1]}, "supersedes": "t" * 2000}
        refused = {
            "refused": self.submit("Migrations may run at any time.", idempotency_key="deploy-1"),
            "refused-long": self.submit(LONG.replace("17.", "18."), idempotency_key="long"),
            "refused-word": self.submit("", **differs, idempotency_key="k" * 128),
            "private": self.submit("Page mira@orbit-works.dev when it fails."),
        }
        self.ids |= {name: answer["quarantine_id"] for name, answer in refused.items()}
        self.ids |= {"sealed": self._seal(), "sealed-word": self._seal(WORD, WORD[:2000])}

    def _seal(self, content: str = "Ask", heading: str = "By the night shift") -> str:
        """Submit an event that is sealed, and return its id in quarantine."""
        mira, noor = "mira.solberg@orbit-works.dev", "noor@orbit-works.dev"
        payload = {"kind": "procedure", "content": f"{content} {mira} before the deploy, or {noor} at night.\n\u202eok"}
        payload |= {"tags": ["deploy"], "attributes": {"contact": noor, "severity": 2}}
        span = {"uri": "repo://apollo/RUNBOOK.md", "start": 10, "heading": f"{heading} {mira}"}
        scope = {"submission_scope": "session", "scope_id": "night"}
        quarantine_id: str = self.submit("", payload=payload, source_span=span, **scope)["quarantine_id"]
        return quarantine_id

    def _decide(self, name: str, proposal_id: str, button: str) -> None:
        with self.window(name) as opened:
            page = opened.new_page()
            page.goto(f"{self.url}/review/{proposal_id}")
            for box in page.get_by_role("checkbox", name="Read to the end").all():
                box.check()
            page.get_by_role("button", name=button, exact=True).click()
            page.get_by_role("status").wait_for()

    def _memory_of(self, proposal_id: str) -> str:
        with self.window("cora") as opened:
            page = opened.new_page()
            page.goto(f"{self.url}/review/{proposal_id}")
            return (page.get_by_role("link", name="its memory").get_attribute("href") or "").rpartition("/")[2]

    def _go(self, path: str) -> Visit:
        return lambda page: page.goto(f"{self.url}{path}") and None

    def full(self) -> Iterator[tuple[str, str, Visit]]:
        """Yield name, person and path of each page with content."""
        ids = self.ids
        for name, path in self._paths().items():
            yield name, "cora", self._go(path)
        yield "proposal-edit", "cora", self._edit
        yield "change", "cora", self._change
        yield "proposal-400", "cora", self._blank_edit
        yield "proposal-409", "cora", self._stale
        yield "refused-409", "cora", self._stale_settlement
        yield "sealed-revealed", "cora", self._reveal
        yield "sealed-400", "cora", self._keep_private
        yield "sealed-others", "dora", self._go(f"/quarantine/{ids['sealed']}")
        yield "auditor-sealed", "ada-audits", self._go(f"/quarantine/{ids['sealed']}")
        yield "cleared", "cora", self._clear
        yield "queue-grammar", "cora", self._grammar
        yield "keys", "cora", self._keys
        yield "auditor-proposal", "ada-audits", self._go(f"/review/{ids['new']}")
        yield "propose-none", "dora", self._go("/memories/propose")
        yield "operations", "olga", self._go("/operations")

    def _paths(self) -> dict[str, str]:
        """Return the address of each page that a curator opens, by its name."""
        ids = self.ids
        paths = {
            "queue": "/review",
            "queue-note": f"/review?done=approved&last={ids['wide']}",
            "latest": "/review/latest",
            "latest-mine": "/review/latest?mine=yes",
            "proposal": f"/review/{ids['new']}",
            "proposal-hidden": f"/review/{ids['hidden']}",
            "proposal-scripts": f"/review/{ids['scripts']}",
            "proposal-arabic": f"/review/{ids['arabic']}",
            "proposal-code": f"/review/{ids['code']}",
            "proposal-long": f"/review/{ids['long']}",
            "proposal-inside": f"/review/{ids['new']}?q=scope:project:apollo+deploy",
            "queue-inside": "/review?done=filter-done&q=producer:worker:nobody",
            "group-producer": "/review/group?producer=worker:release-bot",
            "proposal-word": f"/review/{ids['word']}",
            "proposal-wide": f"/review/{ids['wide']}",
            "proposal-decided": f"/review/{ids['decided']}",
            "proposal-conversation": f"/review/{ids['talk']}",
            "proposal-asked": f"/review/{ids['asked']}",
            "quarantine": "/quarantine",
            "refused": f"/quarantine/{ids['refused']}",
            "refused-long": f"/quarantine/{ids['refused-long']}",
            "refused-word": f"/quarantine/{ids['refused-word']}",
            "sealed": f"/quarantine/{ids['sealed']}",
            "sealed-word": f"/quarantine/{ids['sealed-word']}",
            "group-word": f"/review/group?like={ids['word']}",
            "memory-word": f"/memories/{ids['words']}",
            "refused-settled": f"/quarantine/{ids['private']}",
            "memories": "/memories",
            "memories-none": "/memories?q=nowhere",
            "memory": f"/memories/{ids['memory']}",
            "memory-ended": f"/memories/{ids['ended']}",
            "memories-error": "/memories?at=yesterday",
            "queue-filtered": "/review?q=scope:project:apollo+deploy",
            "queue-error": "/review?q=color:red",
            "group-none": "/review/group?like=nothing",
            "submissions": "/submissions",
            "submissions-error": "/submissions?since=yesterday",
            "audit": "/audit",
            "audit-answers": "/audit?disposition=any",
            "audit-none": "/audit?curator=nobody",
            "audit-error": "/audit?since=yesterday",
            "item": f"/audit/items/{ids['retracted']}",
            "leaf": "/audit/leaves/3",
            "propose": "/memories/propose",
            "propose-change": f"/memories/propose?memory={ids['memory']}",
            "dashboard": "/dashboard",
            "settings": "/settings",
            "policy": "/policy",
            "group": f"/review/group?like={ids['new']}",
            "group-source": f"/review/group?source={ids['new']}",
            "error": "/nowhere",
            "contract": "/contract",
            "schema": "/schema",
        }
        return paths | {f"help-{chapter.name or 'overview'}": chapter.address for chapter in CHAPTERS}

    def _edit(self, page: Page) -> None:
        page.goto(f"{self.url}/review/{self.ids['scripts']}")
        page.get_by_text("Edit or redact").click()

    def _change(self, page: Page) -> None:
        self._edit(page)
        field = page.get_by_label("Text to remember")
        field.fill(field.input_value().replace("Rollback", "A rollback").replace("\u27e6U+202E\u27e7", ""))
        for box in page.get_by_role("checkbox", name="Read to the end").all():
            box.check()
        page.get_by_label("Note").first.fill("It said the opposite.")
        page.get_by_role("button", name="Edit: unclear").click()
        page.get_by_role("heading", name="Your change").wait_for()

    def _blank_edit(self, page: Page) -> None:
        page.goto(f"{self.url}/review/{self.ids['new']}")
        page.get_by_text("Edit or redact").click()
        page.get_by_label("Note").first.fill("What I wanted to say.")
        page.get_by_role("button", name="Edit: unclear").click()
        page.get_by_role("alert").first.wait_for()

    def _stale(self, page: Page) -> None:
        page.goto(f"{self.url}/review/{self.ids['new']}")
        page.get_by_text("Edit or redact").click()
        page.get_by_label("Text to remember").fill("Run the database migration two hours before the deploy.")
        page.locator("input[name=version]").evaluate_all("all => all.forEach((one) => { one.value = '7'; })")
        page.get_by_role("button", name="Edit: unclear").click()
        page.get_by_role("alert").first.wait_for()

    def _stale_settlement(self, page: Page) -> None:
        page.goto(f"{self.url}/quarantine/{self.ids['refused']}")
        page.locator("form.settle input[name=version]").evaluate("one => one.value = '7'")
        page.get_by_label("Note").first.fill("What I wanted to say.")
        page.get_by_role("button", name="Keep the original").click()
        page.get_by_role("alert").first.wait_for()

    def _reveal(self, page: Page) -> None:
        page.goto(f"{self.url}/quarantine/{self.ids['sealed']}")
        page.get_by_label("Why you need to see it").fill("Is it the address of the team?")
        page.get_by_role("button", name="Reveal").click()
        page.locator("ins.shown").wait_for()

    def _keep_private(self, page: Page) -> None:
        page.goto(f"{self.url}/quarantine/{self.ids['sealed']}")
        page.get_by_label("Text to remember").fill("Ask mira.solberg@orbit-works.dev.")
        page.get_by_role("button", name="Redact and release").click()
        page.get_by_role("alert").first.wait_for()

    def _clear(self, page: Page) -> None:
        page.goto(f"{self.url}/quarantine/{self._seal(f'Number {self._number}: ask')}")
        page.get_by_role("button", name="Mark as a false alarm").click()
        page.get_by_role("heading", name="False alarm").wait_for()

    def _grammar(self, page: Page) -> None:
        page.goto(f"{self.url}/review?q=deploy")
        page.get_by_text("Filters and views").click()

    def _keys(self, page: Page) -> None:
        page.goto(f"{self.url}/review/{self.ids['new']}")
        if page.evaluate("document.scripts.length"):
            page.wait_for_selector("body[data-armed]")
            page.keyboard.press("?")


_PEOPLE: Final = {"cora": "curator", "dora": "curator", "ada-audits": "auditor", "olga": "operator"}
