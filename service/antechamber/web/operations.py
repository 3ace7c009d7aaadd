"""Pages and probes for operators: operations, dashboard, policy, health."""

from typing import Any, Final

from litestar import Request, Response, get, route
from litestar.di import NamedDependency
from litestar.response import Template

from antechamber.core.access.callers import ACCOUNT_ROLES, TOKEN_ROLES, Account, Caller
from antechamber.core.contract import SCOPES
from antechamber.core.errors import BusyError, UnavailableError
from antechamber.flows.dashboard import MARKED_TAX, Dashboard
from antechamber.flows.operations import Operations
from antechamber.flows.webhooks.pending import MAX_COUNTED
from antechamber.web.auth import needs_role
from antechamber.web.pages import NO_STORE, AccountRequest, page
from antechamber.web.problems import AnyRequest

_DAYS: Final = {"1": 1, "7": 7, "30": 30}


@get("/dashboard", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_dashboard(request: AccountRequest, dashboard: NamedDependency[Dashboard]) -> Template:
    """Show the figures."""
    days = _DAYS.get(request.query_params.get("days", ""), 1)
    return page(
        request,
        "dashboard.html",
        figures=dashboard.figures(days, request.user.person),
        marked_tax=MARKED_TAX,
        choices=_DAYS,
        screen_days=dashboard.policy()[0].oversight.screen_days,
    )


@get("/operations", guards=[needs_role("operator")], sync_to_thread=True)
def show_operations(
    request: AccountRequest, dashboard: NamedDependency[Dashboard], operations: NamedDependency[Operations]
) -> Template:
    """Show the state of the service, and who has access."""
    return render_operations(request, dashboard, operations)


def render_operations(  # noqa: PLR0913 -- what a refused form shows again
    request: AnyRequest,
    dashboard: Dashboard,
    operations: Operations,
    *,
    made: Any = None,
    error: str | None = None,
    status: int = 200,
    typed: dict[str, str] | None = None,
) -> Template:
    """Render the page of operators: `made` is what a form made, `error` why it was refused, `typed` its fields."""
    health = operations.health()
    return page(
        request,
        "operations.html",
        status,
        health=health,
        access=dashboard.list_access() if health.state else None,
        max_counted=MAX_COUNTED - 1,
        made=made,
        error=error,
        typed=typed or {},
        token_roles=TOKEN_ROLES,
        account_roles=ACCOUNT_ROLES,
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


# Monitors and load balancers probe with HEAD, whose answer has the same headers (RFC 9110, 9.3.2).
@route("/healthz", http_method=["GET", "HEAD"], sync_to_thread=False)
def healthz() -> dict[str, str]:
    """Return status 200 while the process runs."""
    return {"status": "ok"}


@route("/readyz", http_method=["GET", "HEAD"], sync_to_thread=True)
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
    wait = {} if stores else {"retry-after": "2"}
    return Response(status | (details if operator else {}), status_code=200 if stores else 503, headers=NO_STORE | wait)
