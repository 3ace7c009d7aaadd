"""Who else reports a claim, and which terms lead to texts alike."""

from antechamber.core.review.corroboration import NearReport, corroborate
from antechamber.core.search.likeness import MOST_HOLDERS, MOST_TERMS, plan_likeness
from antechamber.core.search.ranking import Corpus

CORPUS = Corpus(memories=100_000, length=2_000_000)


TEXT = "Empty the cache before each deploy of the gateway."


def report(identity: str, owner: str, source: str, received_at: int = 1, content: str = TEXT) -> NearReport:
    """Return a waiting near duplicate."""
    return NearReport(
        kind="proposal",
        id=identity,
        producer_identity="tool:a",
        owner=owner,
        source=source,
        received_at=received_at,
        content=content,
    )


def test_each_owner_and_each_source_counts_once() -> None:
    """The proposal's own owner and source count too; a further submission of the same event has the same source."""
    reports = [report("a", "ada", "repo://x"), report("b", "eve", "repo://y"), report("c", "eve", "repo://x")]
    found = corroborate(TEXT, "ada", "repo://x", ["bob", "bob"], reports)
    assert (found.owners, found.sources) == (3, 2)
    assert [one.id for one in found.reports] == ["b", "c"]


def test_the_latest_report_comes_first() -> None:
    """Reports are in the order of their arrival, the latest first."""
    reports = [report("a", "eve", "repo://y", 1), report("b", "eve", "repo://z", 3), report("c", "bob", "repo://x", 2)]
    assert [one.id for one in corroborate(TEXT, "ada", "repo://x", [], reports).reports] == ["b", "c", "a"]


def test_without_other_reports_a_claim_has_one_owner_and_one_source() -> None:
    """A near duplicate of the same owner and source is no corroboration."""
    found = corroborate(TEXT, "ada", "repo://x", [], [report("a", "ada", "repo://x")])
    assert (found.owners, found.sources, found.reports) == (1, 1, [])


def test_a_report_that_contradicts_the_text_does_not_count() -> None:
    """A report of nearly the same words that says the opposite is kept as such, and no owner or source of it counts."""
    reports = [
        report("a", "eve", "repo://y", content=TEXT.replace("before", "after")),
        report("b", "bob", "repo://x", content=TEXT.replace("each", "every")),
    ]
    found = corroborate(TEXT, "ada", "repo://x", [], reports)
    assert (found.owners, found.sources) == (2, 1)
    assert [(one.id, one.contradicts) for one in found.reports] == [("a", True), ("b", False)]


def test_a_text_without_known_terms_has_no_candidates() -> None:
    """Where no memory has any of the terms, there is nothing to compare."""
    assert plan_likeness(["new", "words"], CORPUS, {}) is None


def test_the_rarest_terms_lead_to_candidates() -> None:
    """Terms are looked up from the rarest on, as long as few memories have them; the rarest always is."""
    holders = {"common": MOST_HOLDERS * 2, "rare": 3, "rarer": 1}
    plan = plan_likeness(["common", "rare", "rarer", "unknown"], CORPUS, holders)
    assert plan is not None
    assert [want.term for want in plan.wanted] == ["rarer", "rare"]
    assert plan.wanted[0].weight > plan.wanted[1].weight
    only = plan_likeness(["common"], CORPUS, holders)
    assert only is not None
    assert [want.term for want in only.wanted] == ["common"]


def test_a_long_text_is_looked_up_by_some_of_its_terms() -> None:
    """A text of many rare terms needs only some of them."""
    terms = [f"word{number}" for number in range(MOST_TERMS * 2)]
    plan = plan_likeness(terms, CORPUS, dict.fromkeys(terms, 1))
    assert plan is not None
    assert len(plan.wanted) == MOST_TERMS
