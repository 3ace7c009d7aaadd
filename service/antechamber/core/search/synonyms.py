"""Words with the same meaning in texts about software, so that a question finds a text in other words."""

from functools import cache
from typing import Final

from antechamber.core.search.terms import terms_by_word

_GROUPS: Final = """
    delete remove erase drop purge
    error failure exception crash fault
    fix repair mend
    begin start launch
    stop halt shutdown terminate end
    create make generate add
    change modify edit update alter
    choose select pick
    database db postgres postgresql
    repository repo monorepo
    configuration config settings setting configure
    environment env
    documentation docs document documents
    application app
    production prod
    staging preprod
    development dev
    directory folder
    authentication login signin
    permission access grant approval approve
    password passphrase credential credentials secret
    kubernetes k8s cluster helm
    javascript js
    typescript ts
    python py
    test spec
    dependency package library dependencies
    deploy deployment rollout release ship
    rollback revert undo
    merge squash
    request call
    response answer reply respond
    endpoint route
    field column attribute
    function method procedure
    limit maximum max cap most budget quota size
    minimum min least required requirement
    picture image photo
    email mail
    message notification
    retry repeat again
    timeout deadline
    slow latency performance
    fast quick
    big large huge
    small little tiny
    store save persist keep stored
    retain retention kept
    backup dump snapshot
    restore recover recovery
    developer engineer
    customer client user
    company organization firm
    price cost money amount
    bill invoice
    alert alarm page
    log logs logging logger
    metric metrics measurement
    monitor watch observe
    schedule cron
    job task
    queue backlog
    worker process
    server host machine node
    shell terminal console
    command cli
    format formatter style
    version release
    support compatible supported
    secure security safe
    vulnerability exploit
    certificate cert
    encrypt encryption
    rotate renew rotation renewal
    review approve
    comment note remark
    rule policy convention guideline
    explain describe
    show display render
    hide conceal
    ask request
    send deliver submit
    fetch download load
    upload send
    verify check validate validation
    refuse reject deny forbid
    allow permit
    prefer preference favor
    tool utility
    ui interface frontend
    backend server
    phone mobile
    mandatory required obligatory necessary
    annotation hint
    colour color
    duplicate twice
    wait pause
    obsolete outdated stale legacy deprecated
    branch fork
    variable env
    installation install setup
    argument parameter option flag
    object instance
    array list
    string text
    bug defect issue
    incident outage
    owner maintainer
    team group
    person people employee
    ticket issue
    diagram chart
    wrong incorrect invalid
    empty blank
    hidden invisible
    parallel concurrent concurrently
    asynchronous async
    synchronous sync
    lock block
    abort cancel
    convert transform
    split divide
    join combine
    count number
    hash digest
    key token
    header headers
    cookie session
    cache caching
    laptop notebook computer
    ios iphone
"""
SHARE: Final = 500
"""Thousandths that a synonym counts for."""


@cache
def synonyms_by_term() -> dict[str, frozenset[str]]:
    """Return the synonyms of each term that has some, as terms."""
    # Made for the first question: stems of all these words take 20 ms, and most processes are asked nothing.
    found: dict[str, set[str]] = {}
    for line in _GROUPS.strip().splitlines():
        terms = set(terms_by_word(line.split()).values())
        for term in terms:
            found.setdefault(term, set()).update(terms - {term})
    return {term: frozenset(others) for term, others in found.items()}
