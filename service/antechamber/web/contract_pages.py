"""The contract for people and programs: OpenAPI and the table of outcomes."""

from functools import cache
from typing import Any

import msgspec
from litestar import Response, get
from litestar.response import Template

from antechamber.core.contract import CODES
from antechamber.core.outcomes import FIXTURES, OUTCOMES
from antechamber.web.audit_api import DISPOSITIONS
from antechamber.web.auth import needs_role, needs_token_or_sign_in
from antechamber.web.contract_members import EXAMPLE_ANSWER, EXAMPLE_EVENT, SIZES, ContractMember, members
from antechamber.web.openapi import document
from antechamber.web.openapi_parts import TEMPLATE
from antechamber.web.pages import AccountRequest, page
from antechamber.web.problems import AnyRequest


@get("/schema/openapi.json", guards=[needs_token_or_sign_in], sync_to_thread=False)
def openapi() -> Response[bytes]:
    """Return the OpenAPI document."""
    return Response(_encode_document(), media_type="application/json")


@cache
def _encode_document() -> bytes:
    return msgspec.json.encode(document())


@get("/schema", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def schema(request: AccountRequest) -> Template:
    """Show the OpenAPI document to people."""
    return page(request, "schema.html", document=document(), bodies=_bodies())


@cache
def _bodies() -> dict[str, list[ContractMember]]:
    """Return the members of each struct that a route takes as its body, by reference."""
    schemas = document()["components"]["schemas"]
    return {TEMPLATE.format(name=name): members(schemas, name) for name in ("SubmissionBody",)}


@get("/contract", sync_to_thread=False)
def contract(request: AnyRequest) -> Response[str]:
    """Show the idempotency contract, generated from the code's own tables."""
    return Response(_contract(request.app.template_engine.engine), media_type="text/html")  # type: ignore[union-attr]


@cache
def _contract(templates: Any) -> str:
    """Render the contract once: it is public, and caching makes a flood of requests cheap."""
    outcomes = [(code, OUTCOMES[code]) for code in CODES]
    schemas = document()["components"]["schemas"]
    text: str = templates.get_template("contract.html").render(
        outcomes=outcomes,
        dispositions=DISPOSITIONS,
        fixtures=FIXTURES,
        event=members(schemas, "SubmissionBody"),
        answer=members(schemas, "Receipt"),
        examples={"An event": EXAMPLE_EVENT, "The answer to it": EXAMPLE_ANSWER},
        sizes=SIZES,
    )
    return text
