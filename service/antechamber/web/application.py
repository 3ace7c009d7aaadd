"""Builds the application: routes, pages, error handlers and headers around the given flows."""

import asyncio
import mimetypes
import time
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from blake3 import blake3
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from litestar import Litestar, Router
from litestar.datastructures import State
from litestar.di import Provide
from litestar.exceptions import HTTPException, InternalServerException
from litestar.middleware import DefineMiddleware
from litestar.plugins.jinja import JinjaTemplateEngine
from litestar.static_files import create_static_files_router
from litestar.template import TemplateConfig
from litestar.types import Message, Scope

from antechamber.background import Background
from antechamber.core.counted import counted
from antechamber.core.errors import BusyError, LogError, NotFoundError, RequestRefusedError, UnavailableError
from antechamber.core.review.edit_field import to_field
from antechamber.core.review.hidden_text import glimpse, pretty, reveal, shorten
from antechamber.core.review.queue_filter import narrow
from antechamber.core.review.shortcuts import SHORTCUTS
from antechamber.core.times import format_age, format_minute, format_time
from antechamber.flows.access import AccessFlows
from antechamber.flows.admit import Admission
from antechamber.flows.changes import Changes
from antechamber.flows.checkpoint_signing import Checkpoints
from antechamber.flows.conversation import Conversation
from antechamber.flows.dashboard import Dashboard
from antechamber.flows.desk_views import DeskViews
from antechamber.flows.export import Export
from antechamber.flows.groups import Groups
from antechamber.flows.log_proofs import LogProofs
from antechamber.flows.log_tiles import LogTiles
from antechamber.flows.metrics import Metrics
from antechamber.flows.operations import Operations
from antechamber.flows.producer_notes import ProducerNotes
from antechamber.flows.proposing import Proposing
from antechamber.flows.quarantine import Quarantine
from antechamber.flows.recall import Recall
from antechamber.flows.review import Desk
from antechamber.flows.seal import KeySealer
from antechamber.flows.sealed_events import SealedEvents
from antechamber.flows.upkeep.review_dates import ReviewDates
from antechamber.flows.upkeep.views import UpkeepViews
from antechamber.settings import Settings
from antechamber.web import (
    access_changes,
    api,
    audit_api,
    audit_pages,
    changes,
    contract_pages,
    decisions,
    desk,
    groups,
    live,
    log_tiles,
    login,
    memories,
    operations,
    problems,
    proposing,
    provider_login,
    quarantine,
    rehearsal,
    sealed_events,
    submit,
)
from antechamber.web import help as help_pages
from antechamber.web import mcp as mcp_endpoint
from antechamber.web import metrics as metrics_endpoint
from antechamber.web import settings as preferences
from antechamber.web.auth import Authentication, SignInNeededError
from antechamber.web.body_deadline import BodyReader
from antechamber.web.passwords import Passwords
from antechamber.web.request_log import HEADER, STATE_NAME, RequestLog
from antechamber.web.request_turns import RequestTurns

_HEADERS: Final = {
    "content-security-policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
    "cross-origin-resource-policy": "same-origin",
}
_TLS_HEADERS: Final = {"strict-transport-security": "max-age=31536000"}


class Services(msgspec.Struct, frozen=True, kw_only=True):
    """The flows that the routes call."""

    admission: Admission
    sealer: KeySealer
    producer_notes: ProducerNotes
    proposing: Proposing
    conversation: Conversation
    recall: Recall
    changes: Changes
    desk: Desk
    groups: Groups
    desk_views: DeskViews
    upkeep_views: UpkeepViews
    review_dates: ReviewDates
    quarantine: Quarantine
    sealed_events: SealedEvents
    access: AccessFlows
    export: Export
    checkpoints: Checkpoints
    proofs: LogProofs
    log_tiles: LogTiles
    dashboard: Dashboard
    metrics: Metrics
    operations: Operations
    passwords: Passwords
    background: Background


def build(
    settings: Settings,
    services: Services,
    secret: bytes,
    templates: Path,
    lifespan: Callable[[Litestar], AbstractAsyncContextManager[None]],
    mcp: mcp_endpoint.Start | None = None,
) -> Litestar:
    """Return the application; `secret` is the 32-byte key that binds forms to sessions, `mcp` starts the MCP server."""
    flows = {name: getattr(services, name) for name in Services.__struct_fields__}
    state = State(
        flows
        | {
            "settings": settings,
            "hosts": frozenset(settings.hosts),
            "secret": secret,
            "alarms": services.dashboard.alarms,
            # Set when the process is asked to stop, so that streams end by themselves instead of being cut off.
            "stopping": asyncio.Event(),
            "uploads": BodyReader(),
            "turns": RequestTurns(),
            "request_log": RequestLog(access=settings.access_log),
            "tools": mcp_endpoint.ToolServer(mcp, services.background.work("serving MCP clients")),
        }
    )
    engine = JinjaTemplateEngine.from_environment(environment(templates))
    application = submit.AntechamberApp(
        state=state,
        template_config=TemplateConfig(instance=engine),
        before_send=[_add_headers(settings)],
        lifespan=[lifespan],
        openapi_config=None,
        logging_config=None,
    )
    application.state.short_cut = submit.ShortCut(
        services.admission, services.access.token_check, state.hosts, state.request_log, _common_headers(settings)
    )
    shared = _routes(templates)
    application.routes, application.asgi_handler = shared.routes, shared.asgi_handler
    return application


@cache
def _routes(templates: Path) -> Litestar:
    """Return an application that has all routes and never runs itself.

    All applications of a process share its routes, because deriving them takes longer than the rest of a start. They
    read the flows, and everything else that differs, from the application that received the request.
    """
    # Python 3.11 and 3.12 do not know this type, and browsers are asked not to guess types.
    mimetypes.add_type("image/webp", ".webp")
    assets = create_static_files_router(
        "/assets",
        directories=[templates / "assets"],
        exception_handlers={InternalServerException: problems.on_not_found, ValueError: problems.on_not_found},
    )
    return submit.AntechamberApp(
        route_handlers=[*_handlers(), assets],
        dependencies={name: Provide(_flow(name), sync_to_thread=False) for name in Services.__struct_fields__},
        middleware=[DefineMiddleware(Authentication, exclude_http_methods=[])],
        exception_handlers={
            RequestRefusedError: problems.on_refused,
            NotFoundError: problems.on_not_found,
            BusyError: problems.on_unavailable,
            UnavailableError: problems.on_unavailable,
            LogError: problems.on_unavailable,
            SignInNeededError: problems.on_sign_in_needed,
            HTTPException: problems.on_http_error,
            Exception: problems.on_bug,
        },
        openapi_config=None,
        logging_config=None,
    )


def _handlers() -> list[Any]:
    return [
        Router(
            "/",
            route_handlers=[
                submit.submit,
                api.Submissions,
                api.Memories,
                changes.read_changes,
                api.write_note,
                api.whose_token,
                api.refuse_direct_write,
            ],
        ),
        Router(
            "/",
            route_handlers=[
                desk.ReviewPages,
                groups.group,
                groups.decide_on_group,
                decisions.DecisionRoutes,
                quarantine.show_quarantine,
                quarantine.settle_many,
                quarantine.show_event,
                sealed_events.reveal,
                sealed_events.settle_sealed,
                quarantine.settle,
                memories.show_memories,
                memories.show_memory,
                memories.keep,
            ],
        ),
        mcp_endpoint.mcp,
        live.changes,
        Router("/", route_handlers=[login.front, login.show_login, login.login, login.logout]),
        provider_login.begin_at_provider,
        provider_login.finish_at_provider,
        # Handlers of one path must be in one router: Litestar 2.25 wraps a separate one again for each later handler.
        Router("/", route_handlers=[*preferences.ROUTES]),
        Router("/", route_handlers=[proposing.show_form, proposing.propose]),
        *audit_api.ROUTES,
        *log_tiles.ROUTES,
        audit_pages.audit,
        audit_pages.item,
        audit_pages.leaf,
        audit_pages.verifier_file,
        audit_pages.submissions,
        operations.show_dashboard,
        Router("/", route_handlers=list(rehearsal.ROUTES)),
        Router("/", route_handlers=[operations.show_operations, access_changes.change_access]),
        operations.show_policy,
        operations.healthz,
        operations.readyz,
        metrics_endpoint.show_metrics,
        contract_pages.openapi,
        contract_pages.schema,
        contract_pages.contract,
        help_pages.help_front,
        help_pages.help_chapter,
    ]


def _flow(name: str) -> Callable[[Scope], Any]:
    """Return a dependency: the flow of this name in the application that received the request."""

    def provide(scope: Scope) -> Any:
        return scope["litestar_app"].state[name]

    return provide


def _common_headers(settings: Settings) -> list[tuple[bytes, bytes]]:
    ours = _HEADERS | (_TLS_HEADERS if settings.secure else {})
    return [(name.encode(), value.encode()) for name, value in ours.items()]


def _add_headers(settings: Settings) -> Callable[[Message, Scope], Awaitable[None]]:
    """Return a hook that adds the common headers to every response, unless the response sets them itself."""
    always = _common_headers(settings)
    unstored = [(b"cache-control", b"no-store"), *always]

    async def add(message: Message, scope: Scope) -> None:
        if message["type"] == "http.response.start":
            headers = list(message.get("headers", ()))
            headers.append((HEADER, scope["state"][STATE_NAME].encode()))
            named = {name.lower() for name, _ in headers}
            added = always if scope["path"].startswith("/assets/") else unstored
            message["headers"] = headers + [pair for pair in added if pair[0] not in named]

    return add


_ASSETS: Final = (
    ("sheet", "antechamber.css"),
    ("keys_script", "shortcuts.js"),
    ("live_script", "live.js"),
    ("times_script", "times.js"),
)
"""The names of assets in templates, and their files."""


@cache
def environment(templates: Path) -> Environment:
    """Return the template environment: everything is escaped, and an undefined name is an error.

    All applications of a process share it, because compiling a template takes longer than rendering it.
    """
    templates_environment = Environment(
        loader=FileSystemLoader(templates),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    for name, file in _ASSETS:
        digest = blake3((templates / "assets" / file).read_bytes()).hexdigest()[:12]
        templates_environment.globals[name] = f"/assets/{file}?{digest}"
    templates_environment.globals["shortcuts"] = SHORTCUTS
    templates_environment.filters |= {
        "reveal": reveal,
        "shorten": shorten,
        "counted": counted,
        "glimpse": glimpse,
        "in_field": to_field,
        "moment": format_time,
        "minute": format_minute,
        "ago": lambda micros: format_age(micros, time.time_ns() // 1000),
        "json": _json,
        "span": _span,
        "pretty": pretty,
        "decoded": msgspec.json.decode,
        "narrow": narrow,
    }
    return templates_environment


def _json(value: Any) -> str:
    return msgspec.json.encode(value).decode()


def _span(microseconds: int) -> str:
    """Return a duration as a text with one unit."""
    seconds = max(microseconds, 0) // 1_000_000
    for unit, length in (("d", 86_400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds // length} {unit}"
    return f"{seconds} s"
