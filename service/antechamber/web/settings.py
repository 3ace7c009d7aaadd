"""`/settings`: what a person chose for themselves."""

import asyncio

from litestar import get, post
from litestar.di import NamedDependency
from litestar.response import Redirect, Template

from antechamber.core.errors import BusyError, UnavailableError
from antechamber.core.shortcuts import OFF, SHORTCUTS, ShortcutError, keep, keys_of
from antechamber.flows.access import Access
from antechamber.web.auth import check_form, needs_role
from antechamber.web.desk import MAX_FORM, PersonRequest, page, read_form
from antechamber.web.problems import AnyRequest


@get("/settings", guards=[needs_role("curator", "auditor", "operator")], sync_to_thread=True)
def show_settings(request: PersonRequest) -> Template:
    """Show the choice of keys."""
    kept = request.user.keys
    return page(request, "settings.html", on=kept != OFF, chosen=keys_of(None if kept == OFF else kept), error=None)


@post("/settings", request_max_body_size=MAX_FORM)
async def choose_keys(request: AnyRequest, access: NamedDependency[Access]) -> Template | Redirect:
    """Keep a choice of keys."""
    form = await read_form(request)
    person = check_form(request, form)
    chosen = {one.action: form.get(one.action, "") for one in SHORTCUTS}
    try:
        kept = OFF if "on" not in form else keep(chosen)
        await asyncio.to_thread(access.choose_keys, person, kept)
    except ShortcutError as error:
        return page(request, "settings.html", 400, on=True, chosen=chosen, error=str(error))
    except (BusyError, UnavailableError) as error:
        text = f"The service cannot store anything right now: {error}. Try again in a moment."
        return page(request, "settings.html", 503, on="on" in form, chosen=chosen, error=text)
    return Redirect("/settings?done=kept", status_code=303)
