"""Questions over HTTP: the same order on both engines, typing errors, several scopes, pages, and provenance."""

from collections.abc import Iterator
from typing import Any

import httpx
import pytest

from antechamber.core.ports.search import RankedMemory
from antechamber.core.search.question import VocabularyWord, read_question, unknown_words, with_corrections
from antechamber.core.search.ranking import Corpus, SearchPlan, contribution, plan_search
from antechamber.core.search.terms import IndexedText, index_text
from antechamber.flows.answer_question import answer_question
from antechamber.settings import Location
from lib.search_set import load
from support import Service, database, event, running, write_policies

APOLLO, SESSION = "project:apollo", "session:s-1"
GUIDANCE = 40
"""Number of memories of the labelled set in the library."""


def ask(service: Service, *bearer: Any, **query: Any) -> httpx.Response:
    """Read memories with these parameters."""
    return service.client.get("/v1/memories", params=query, headers=service.bearer(*bearer))


def items(response: httpx.Response) -> list[dict[str, Any]]:
    """Return the items of a page."""
    assert response.status_code == 200, response.text
    found: list[dict[str, Any]] = response.json()["items"]
    return found


def contents(response: httpx.Response) -> list[str]:
    """Return the texts of a page."""
    return [item["content"] for item in items(response)]


def refusal(response: httpx.Response) -> tuple[Any, ...]:
    """Return status, code and pointer of a refusal."""
    reason = response.json()["reasons"][0]
    return response.status_code, reason["code"], reason["pointer"]


def admit(service: Service, content: str, **members: Any) -> str:
    """Submit an event, have a curator approve it, and return its proposal."""
    proposal: str = service.submit(event(content, **members)).json()["proposal_id"]
    assert service.sign_in().decide(proposal, "approve").status_code == 303
    return proposal


@pytest.fixture(scope="module")
def library(lasting_place: Location) -> Iterator[Service]:
    """A service with guidance in a project and a session, shared by tests that only read."""
    with running(lasting_place, write_policies(lasting_place.data.parent / "policies")) as service:
        desk = service.sign_in()
        for number, payload in enumerate(list(load(unseen=False).memories.values())[:GUIDANCE]):
            scope = {"submission_scope": "session", "scope_id": "s-1"} if number % 4 == 0 else {}
            proposal = service.submit(event(payload["content"], payload=payload, **scope)).json()["proposal_id"]
            assert desk.decide(proposal, "approve").status_code == 303
        yield service


# The order


def expected(texts: list[tuple[int, IndexedText]], question: str, *, every_word: bool) -> list[RankedMemory]:
    """Return the answers by the rules of `core.search` alone; texts are integer keys and what is indexed."""
    corpus = Corpus(len(texts), sum(text.length for _, text in texts))
    holders: dict[str, int] = {}
    vocabulary: dict[str, VocabularyWord] = {}
    for _, text in texts:
        for term in text.frequencies:
            holders[term] = holders.get(term, 0) + 1
        for word, term in text.words.items():
            before = vocabulary[word].memories if word in vocabulary else 0
            vocabulary[word] = VocabularyWord(word=word, term=term, memories=before + 1)
    words = read_question(question, synonyms=not every_word)
    unknown = {word.word for word in unknown_words(words, holders)}
    words = [with_corrections(word, vocabulary.values()) if word.word in unknown else word for word in words]
    plan = plan_search(words, corpus, holders, every_word=every_word)
    scored = [] if plan is None else [(number, score(plan, text)) for number, text in texts]
    ranked = [RankedMemory(id=number, score=value) for number, value in scored if value is not None]
    return sorted(ranked, key=lambda one: (-one.score, -one.id))


def score(plan: SearchPlan, text: IndexedText) -> int | None:
    """Return the score of a text, or None if it matches too little."""
    best: dict[int, tuple[int, int]] = {}
    for wanted in plan.wanted:
        if frequency := text.frequencies.get(wanted.term):
            value = contribution(wanted.weight, frequency, text.length, plan.corpus)
            old = best.get(wanted.position, (0, 0))
            best[wanted.position] = (max(value, old[0]), max(wanted.cover, old[1]))
    covered = sum(cover for _, cover in best.values())
    if len(best) < plan.least_words or covered < plan.least_cover:
        return None
    return sum(value for value, _ in best.values())


def questions() -> list[str]:
    """Return questions of the labelled set, some with a typing error, and some odd ones."""
    asked = [question.text for question in load(unseen=False).answerable[:40]]
    return [
        *asked,
        *(text.replace("tests", "tsets").replace("database", "databse") for text in asked[:20]),
        "deploy release rollout staging production",
        "database",
        "the",
        "never before after only",
        "tests",
        "run the tests",
        "tables",
        "releases",
        "customers",
    ]


@pytest.mark.parametrize("every_word", [False, True])
@pytest.mark.parametrize("scopes", [[APOLLO], [SESSION], [APOLLO, SESSION]], ids=["one", "other", "both"])
def test_both_engines_rank_by_the_rules_of_the_core(library: Service, scopes: list[str], *, every_word: bool) -> None:
    """Answers, scores and order are those that the pure rules give for the texts of the scopes that are read."""
    pairs = [(scope.partition(":")[0], scope.partition(":")[2]) for scope in scopes]
    found = 0
    with library.state.desk._store.read() as tx:
        hits = tx.memories.items(tx.memories.newest(pairs, None, 200))
        texts = [(hit.id, index_text(hit.payload)) for hit in hits]
        for question in questions():
            wanted = expected(texts, question, every_word=every_word)
            answers = answer_question(tx, pairs, question, every_word=every_word, after=None, number=200)
            assert answers == wanted, question
            if len(answers) > 2:
                rest = answer_question(tx, pairs, question, every_word=every_word, after=answers[1], number=200)
                assert rest == answers[2:]
            found += bool(answers)
    assert found > (1 if every_word else 15)


def test_an_answer_has_its_score_and_the_best_comes_first(library: Service) -> None:
    """Scores fall from item to item; a listing without a question has none."""
    page = items(ask(library, scope=[APOLLO, SESSION], q="When do the migrations of the database run?"))
    assert page[0]["content"].startswith("Run database migrations before")
    scores = [item["score"] for item in page]
    assert scores == sorted(scores, reverse=True)
    assert "score" not in items(ask(library, scope=APOLLO))[0]


def test_of_equal_answers_the_newest_comes_first(service: Service) -> None:
    """Memories with equal scores are ordered by admission."""
    for text in ("Deploy alpha.", "Deploy omega.", "Deploy gamma."):
        admit(service, text)
    assert contents(ask(service, scope=APOLLO, q="deploy")) == ["Deploy gamma.", "Deploy omega.", "Deploy alpha."]


@pytest.mark.parametrize(
    "q", ["MIGRATIONS of databases", "migrating a database", "database migratoins", "datábase migration"]
)
@pytest.mark.parametrize("match", ["any", "all"])
def test_case_accents_inflection_and_typing_errors_do_not_matter(library: Service, q: str, match: str) -> None:
    """The same memory answers the question in each of its forms, also if each word must match."""
    answer, *_ = contents(ask(library, scope=[APOLLO, SESSION], q=q, match=match))
    assert answer.startswith("Run database migrations before")


def test_all_never_drops_a_word(library: Service) -> None:
    """With match=all a memory without one of the words is no answer; with any it may be one."""
    asked = {"scope": [APOLLO, SESSION], "q": "database migrations vacuum"}
    assert contents(ask(library, **asked, match="all")) == []
    assert len(contents(ask(library, **asked, match="any"))) > 0
    assert contents(ask(library, scope=[APOLLO, SESSION], q="database migrations xyzzyx", match="all")) == []


@pytest.mark.parametrize("question", [one.text for one in load(unseen=False).unanswerable[:6]])
def test_a_question_without_an_answer_returns_nothing(library: Service, question: str) -> None:
    """A single common word is not enough."""
    assert items(ask(library, scope=[APOLLO, SESSION], q=question)) == []


def test_tags_are_found_too(service: Service) -> None:
    """A tag is a word of its memory."""
    admit(service, "Wait.", payload={"kind": "fact", "content": "Wait.", "tags": ["rollback"]})
    assert contents(ask(service, scope=APOLLO, q="How do rollbacks work?")) == ["Wait."]


def test_pages_of_answers_follow_one_another(library: Service) -> None:
    """`next` leads through all answers, each once and in order."""
    asked = {"scope": [APOLLO, SESSION], "q": "database table column index deploy release", "match": "any"}
    whole = contents(ask(library, scope=[APOLLO, SESSION], q="database"))
    assert len(whole) > 2
    seen: list[str] = []
    after: dict[str, str] = {}
    while True:
        page = ask(library, **(asked | {"q": "database"}), limit=2, **after)
        seen += contents(page)
        if page.json()["next"] is None:
            break
        after = {"after": page.json()["next"]}
    assert seen == whole


@pytest.mark.parametrize("after", ["x", "5", "5.unknown", "-1.x", "9999999999999999999.x", "1.\0"])
def test_a_cursor_of_something_else_is_refused(library: Service, after: str) -> None:
    """A cursor that no page of answers returned is 400; so is one of answers without a question."""
    assert refusal(ask(library, scope=APOLLO, q="database", after=after)) == (400, "malformed", "/after")
    page = ask(library, scope=APOLLO, q="database", limit=1)
    assert refusal(ask(library, scope=APOLLO, after=page.json()["next"])) == (400, "malformed", "/after")


# Scopes


def test_several_scopes_are_read_together(library: Service) -> None:
    """All named scopes are listed together, newest first, in both forms of the parameters."""
    both = ask(library, scope=[APOLLO, SESSION, APOLLO], limit=200)
    one, other = (contents(ask(library, scope=scope, limit=200)) for scope in (APOLLO, SESSION))
    assert contents(ask(library, submission_scope="project", scope_id="apollo", limit=200)) == one
    assert sorted(contents(both)) == sorted(one + other)
    # A UUIDv7 begins with its millisecond; the rest is random.
    times = [item["memory_id"][:13] for item in items(both)]
    assert times == sorted(times, reverse=True)
    half = ask(library, scope=[APOLLO, SESSION], limit=GUIDANCE // 2)
    rest = ask(library, scope=[SESSION, APOLLO], limit=200, after=half.json()["next"])
    assert contents(half) + contents(rest) == contents(both)


@pytest.mark.parametrize(
    ("query", "answer"),
    [
        ({}, (400, "malformed", "/submission_scope")),
        ({"scope_id": "apollo"}, (400, "malformed", "/submission_scope")),
        ({"submission_scope": "project"}, (400, "malformed", "/scope_id")),
        ({"scope": APOLLO, "submission_scope": "project", "scope_id": "apollo"}, (400, "malformed", "/scope")),
        ({"scope": APOLLO, "scope_id": "apollo"}, (400, "malformed", "/scope")),
        ({"scope": "apollo"}, (400, "malformed", "/scope")),
        ({"scope": "project:"}, (400, "malformed", "/scope")),
        ({"scope": "galaxy:apollo"}, (400, "malformed", "/scope")),
        ({"scope": [f"project:a{number}" for number in range(17)]}, (400, "malformed", "/scope")),
        ({"scope": APOLLO, "match": "some"}, (400, "malformed", "/match")),
        ({"scope": APOLLO, "q": "a " * 33}, (400, "malformed", "/q")),
        ({"scope": APOLLO, "q": "".join(map(chr, range(0x4E00, 0x4E00 + 65)))}, (400, "malformed", "/q")),
        ({"scope": [APOLLO, "project:gemini"]}, (403, "scope-not-granted", "/scope")),
        ({"scope": [f"project:a{number}" for number in range(16)]}, (403, "scope-not-granted", "/scope")),
        ({"scope": [APOLLO, "session:s-2"], "q": "deploy"}, (403, "scope-not-granted", "/scope")),
    ],
)
def test_scopes_are_named_in_one_form_and_each_must_be_granted(
    library: Service, query: dict[str, Any], answer: tuple[Any, ...]
) -> None:
    """No scope, both forms or a wrong parameter is 400; one scope that is not granted is 403 for all."""
    assert refusal(ask(library, **query)) == answer


def test_other_scopes_do_not_change_scores(service: Service) -> None:
    """Statistics come from the scopes that are read, so that an answer reveals nothing about others."""
    admit(service, "Deploy on Tuesday.")
    admit(service, "Rest on Sunday.")
    before = items(ask(service, scope=APOLLO, q="deploy"))
    for number in range(3):
        admit(service, f"Deploy {number}.", submission_scope="session", scope_id="s-1")
    assert items(ask(service, scope=APOLLO, q="deploy")) == before


# What ends is found no more


def index_rows(service: Service) -> list[int]:
    """Return the number of rows in each table of the index, and the counts of the scopes."""
    with database(service.location) as raw:
        tables = ("search_terms", "search_postings", "search_words")
        counts = [raw.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in tables]
        memories, length = raw.execute("SELECT sum(memories), sum(length) FROM search_scopes").fetchone()
    return [*counts, int(memories), int(length)]


@pytest.mark.parametrize("end", ["retract", "expire"])
def test_an_ended_memory_leaves_the_index(service: Service, end: str) -> None:
    """What ended is found by no question and leaves no word in the index; undo brings it back."""
    admit(service, "Cats sleep.")
    before = index_rows(service)
    proposal = admit(service, "Quokkas graze before the deploy.")
    asked = {"scope": APOLLO, "q": "quokkas"}
    assert len(items(ask(service, **asked))) == 1
    with_it, desk = index_rows(service), service.sign_in()
    assert desk.decide(proposal, end, reason_code="outdated").status_code == 303
    assert items(ask(service, **asked)) == []
    assert index_rows(service) == before
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM search_words WHERE word LIKE 'quokk%'").fetchone()[0] == 0
    assert desk.decide(proposal, "undo").status_code == 303
    assert len(items(ask(service, **asked))) == 1
    assert index_rows(service) == with_it
    with service.state.desk._store.read() as tx:
        assert list(tx.doctor.check()) == []


def test_a_superseded_memory_is_found_no_more(service: Service) -> None:
    """Only the new text answers, and the old memory names it."""
    admit(service, "Deploy on Monday.")
    old = items(ask(service, scope=APOLLO))[0]["memory_id"]
    proposal = service.submit(event("Deploy on Tuesday.")).json()["proposal_id"]
    desk = service.sign_in()
    assert desk.decide(proposal, "supersede", target=old).status_code == 303
    (new,) = items(ask(service, scope=APOLLO, q="When do we deploy?"))
    assert (new["content"], new["supersedes"]) == ("Deploy on Tuesday.", old)
    answer = service.client.get(f"/v1/memories/{old}", headers=service.bearer()).json()
    assert (answer["state"], answer["superseded_by"]) == ("superseded", new["memory_id"])
    assert answer["ended_at"] == new["admitted_at"]
    assert answer["review_record_ids"][1:] == new["review_record_ids"]
    assert desk.decide(proposal, "undo").status_code == 303
    answer = service.client.get(f"/v1/memories/{old}", headers=service.bearer()).json()
    assert (answer["state"], answer["ended_at"], answer["superseded_by"]) == ("active", None, None)
    assert contents(ask(service, scope=APOLLO, q="When do we deploy?")) == ["Deploy on Monday."]


@pytest.mark.parametrize(
    ("sql", "finding"),
    [
        ("UPDATE search_terms SET memories = memories + 1", "another number of memories with a term"),
        ("UPDATE search_scopes SET memories = memories + 1", "does not count the active memories"),
        ("UPDATE search_scopes SET length = length + 1", "does not count the active memories"),
        ("DELETE FROM search_postings", "another number of memories with a term"),
        ("UPDATE search_scopes SET scope_id = 'gemini'", "does not know project:apollo"),
    ],
)
def test_the_doctor_compares_the_index_with_the_memories(service: Service, sql: str, finding: str) -> None:
    """An index that was altered is reported."""
    admit(service, "Deploy on Monday.")
    with database(service.location) as raw:
        raw.execute(sql)
    with service.state.desk._store.read() as tx:
        assert any(finding in found for found in tx.doctor.check())


def test_the_doctor_reports_an_ended_memory_in_the_index(service: Service) -> None:
    """A posting of a memory that is not active is reported, and the memory is returned all the same never."""
    proposal = admit(service, "Deploy on Monday.")
    with database(service.location) as raw:
        rows = raw.execute("SELECT term, memory, frequency, length FROM search_postings").fetchall()
    service.sign_in().decide(proposal, "retract", reason_code="wrong")
    with database(service.location) as raw:
        for row in rows:
            raw.execute(f"INSERT INTO search_postings VALUES ({', '.join(map(str, row))})")
        raw.execute(
            "INSERT INTO search_terms SELECT min(term), min(s.id), 'deploy', 1 FROM search_postings, search_scopes AS s"
        )
        raw.execute("UPDATE search_scopes SET memories = 1, length = 2")
    assert items(ask(service, scope=APOLLO, q="deploy")) == []
    with service.state.desk._store.read() as tx:
        assert any("which is not active" in found for found in tx.doctor.check())


# Provenance, and one memory


def test_a_memory_names_its_producer_approvals_evidence_and_records(service: Service) -> None:
    """Approvals are persons, evidence is other owners, and the records lead to the auditor's export."""
    body = event("Everyone knows.", submission_scope="project")
    proposal = service.submit(body).json()["proposal_id"]
    assert service.submit(event("Everyone knows.", producer_identity="tool:watcher")).status_code == 200
    service.sign_in().decide(proposal, "approve")
    (item,) = items(ask(service, scope=APOLLO))
    assert (item["producer_identity"], item["approvals"], item["evidence"]) == ("worker:release-bot", 1, 1)
    (record,) = item["review_record_ids"]
    auditor = service.bearer("auditing", "auditor")
    told = service.client.get(f"/v1/audit/review-records/{record}", headers=auditor)
    assert told.status_code == 200
    assert told.json()["memory_id"] == item["memory_id"]


def test_two_approvals_are_two_persons(service: Service) -> None:
    """An edited text has the record of each person who approved that text."""
    proposal = service.submit(event("First text.")).json()["proposal_id"]
    service.sign_in().decide(proposal, "edit", content="Better text.", reason_code="unclear")
    service.sign_in("eve").decide(proposal, "approve")
    (item,) = items(ask(service, scope=APOLLO, q="better text"))
    assert (item["content"], item["approvals"], len(item["review_record_ids"])) == ("Better text.", 2, 2)


def test_one_memory_is_read_by_its_id(library: Service) -> None:
    """It is the item of the page, with its state; there is no score."""
    item = items(ask(library, scope=APOLLO))[0]
    answer = library.client.get(f"/v1/memories/{item['memory_id']}", headers=library.bearer())
    assert answer.status_code == 200
    assert answer.headers["cache-control"] == "no-store"
    assert answer.json() == item | {"state": "active", "ended_at": None, "superseded_by": None}


@pytest.mark.parametrize("name", ["not granted", "another session", "unknown", "odd", "auditor", "not listed"])
def test_a_memory_that_may_not_be_read_is_404(library: Service, name: str) -> None:
    """The answer is the same whether the memory exists or not."""
    project, session = (items(ask(library, scope=scope))[0]["memory_id"] for scope in (APOLLO, SESSION))
    memory_id, bearer = {
        "not granted": (project, ("lookout", "reader", ("project:gemini",))),
        "another session": (session, ("tool:watcher",)),
        "unknown": ("01a2063e-75a8-7399-ac8b-5e6940048a13", ()),
        "odd": ("%00", ()),
        "auditor": (project, ("inspector", "auditor")),
        "not listed": (project, ("worker:stranger",)),
    }[name]
    answer = library.client.get(f"/v1/memories/{memory_id}", headers=library.bearer(*bearer))
    nothing = library.client.get("/v1/memories/nothing", headers=library.bearer(*bearer))
    assert answer.status_code == nothing.status_code == 404
    assert answer.json() == nothing.json()


def test_an_erased_memory_keeps_no_text(service: Service) -> None:
    """A retracted memory that was erased is read by its id without text."""
    proposal = admit(service, "Quokkas graze.")
    memory_id = items(ask(service, scope=APOLLO))[0]["memory_id"]
    service.sign_in().decide(proposal, "retract", reason_code="private")
    service.state.desk._store.promote(lambda tx: tx.log.erase("e1", proposal, "private", 1)).result()
    answer = service.client.get(f"/v1/memories/{memory_id}", headers=service.bearer()).json()
    assert (answer["content"], answer["state"]) == ("(erased)", "retracted")
    assert answer["ended_at"] is not None
    with database(service.location) as raw:
        assert raw.execute("SELECT count(*) FROM search_words").fetchone()[0] == 0
