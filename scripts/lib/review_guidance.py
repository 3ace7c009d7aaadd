"""Review a queue through the desk's pages as a curator does, and count the pages.

Each source is read on one page after the other. What may be approved there is marked and recorded together; what has
warnings, needs two persons or is not shown whole is opened and approved alone. Every page that the browser is shown
counts, also the one that answers a form.
"""

import html
import re
from collections import Counter

import httpx

_FIELD = re.compile(r'name="(csrf|decision_key|version|shown_hash|item-\d+)"\s+value="([^"]*)"')
_SOURCE = re.compile(r'href="/review/group\?(source=[^"&]+)')
_ROW = re.compile(r'class="whole" dir="auto" href="/review/([^"?]+)')
_CHOICE = re.compile(r'name="mark-(\d+)"\s+value="approve"')
_READ = re.compile(r'name="(read-\d+)"')


class Review:
    """One curator's way through the queue; `counts` has pages and decisions."""

    def __init__(self, url: str, link: str) -> None:
        """Sign in with a printed link."""
        self._browser = httpx.Client(base_url=url, timeout=120, follow_redirects=True)
        self._browser.post("/login", data={"link": link.partition("link=")[2]}).raise_for_status()
        self.counts: Counter[str] = Counter()

    def run(self) -> None:
        """Approve everything that waits, source by source."""
        while rows := _ROW.findall(queue := self._page("/review")):
            source = _SOURCE.search(queue)
            if source is None or not self._approve_source(source[1]):
                self._approve_alone(rows[0])

    def _approve_source(self, source: str) -> int:
        """Approve what the pages of a source allow, and return how many that were."""
        approved = 0
        page = self._page(f"/review/group?{html.unescape(source)}")
        while numbers := _CHOICE.findall(page):
            form = dict(_FIELD.findall(page.partition("/review/group/marks")[2]))
            form |= {f"mark-{number}": "approve" for number in numbers}
            form |= dict.fromkeys(_READ.findall(page), "1")
            page = self._page(f"/review/group/marks?{html.unescape(source)}", form)
            made = int((re.search(r"(\d+) recorded", page) or ["", "0"])[1])
            self.counts["approved together"] += made
            approved += made
            if not made:
                break
        return approved

    def _approve_alone(self, proposal_id: str) -> None:
        """Approve proposals one by one, each answered with the page of the next, until one may be approved together."""
        page = self._page(f"/review/{proposal_id}")
        while True:
            form = dict(_FIELD.findall(page)) | {"read": "1"}
            answer = self._browser.post(f"/review/{proposal_id}/approve", data=form)
            answer.raise_for_status()
            self.counts["pages"] += 1
            self.counts["approved alone"] += 1
            page = answer.text
            following = re.fullmatch(r"/review/([^/]+)", answer.url.path)
            if following is None or 'class="word warn"' not in page:
                return
            proposal_id = following[1]

    def _page(self, path: str, form: dict[str, str] | None = None) -> str:
        self.counts["pages"] += 1
        answer = self._browser.get(path) if form is None else self._browser.post(path, data=form)
        answer.raise_for_status()
        return answer.text
