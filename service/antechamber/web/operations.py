"""Pages and probes for operators: dashboard, policy, health."""

from typing import Any, Final

from litestar import Request, Response, get
from litestar.di import NamedDependency
from litestar.response import Template

from antechamber.core.access.callers import Account, Caller
from antechamber.core.contract import SCOPES
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.flows.dashboard import MARKED_TAX, Dashboard
from antechamber.web.auth import needs_role
from antechamber.web.pages import NO_STORE, AccountRequest, page

_DAYS: Final = {"1": 1, "7": 7, "30": 30}


@get("/dashboard", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_dashboard(request: AccountRequest, dashboard: NamedDependency[Dashboard]) -> Template:
    """Show the figures; operators also see tokens, accounts and the policy."""
    operator = request.user.role == "operator"
    days = _DAYS.get(request.query_params.get("days", ""), 1)
    standing = dashboard.list_access() if operator else None
    return page(
        request,
        "dashboard.html",
        figures=dashboard.figures(days, request.user.person),
        marked_tax=MARKED_TAX,
        choices=_DAYS,
        standing=standing,
        screen_days=dashboard.policy()[0].oversight.screen_days,
    )


@get("/policy", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_policy(request: AccountRequest, dashboard: NamedDependency[Dashboard]) -> Template:
    """Show the policy in force; it is changed only in its files."""
    policy, digest = dashboard.policy()
    rules = [(scope, policy.rules(scope)) for scope in SCOPES]
    return page(
        request,
        "policy.html",
        policy=policy,
        digest=digest,
        rules=rules,
        privacy=sorted(rule.rule_id for rule in policy.detectors),
    )


@get("/healthz", sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Return status 200 while the process runs."""
    return {"status": "ok"}


@get("/readyz", sync_to_thread=True)
def readyz(
    request: Request[Caller | None, Any, Any], dashboard: NamedDependency[Dashboard]
) -> Response[dict[str, Any]]:
    """Return whether requests can be served; operators also get the reasons."""
    try:
        details = dashboard.health()
    except (BusyError, UnavailableError):
        return Response({"status": "unavailable"}, status_code=503, headers=NO_STORE | {"retry-after": "2"})
    stores = dashboard.stores()
    status = {"status": "degraded" if details["alarms"] else "ready"} if stores else {"status": "read-only"}
    operator = isinstance(request.user, Account) and request.user.role == "operator"
    return Response(status | (details if operator else {}), status_code=200 if stores else 503, headers=NO_STORE)
