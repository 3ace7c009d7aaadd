"""The help: the documents of the repository as pages, for signed-in people and for agents with a token."""

import posixpath
from functools import cache
from typing import Any, Final

from litestar import get
from litestar.connection import ASGIConnection
from litestar.handlers import BaseRouteHandler
from litestar.params import FromPath
from litestar.response import Template

from antechamber.core.access.callers import Account
from antechamber.core.errors import NotFoundError
from antechamber.resources import document, folder
from antechamber.web.auth import SignInNeededError
from antechamber.web.help_chapters import CHAPTERS, Chapter
from antechamber.web.markdown import Document, render
from antechamber.web.pages import NO_STORE, page
from antechamber.web.problems import AnyRequest

_ASSETS: Final = "templates/assets/"
_BY_NAME: Final = {chapter.name: chapter for chapter in CHAPTERS}
_BY_FILE: Final = {chapter.file: chapter for chapter in CHAPTERS}


async def _needs_caller(connection: ASGIConnection[Any, Any, Any, Any], _handler: BaseRouteHandler) -> None:
    if connection.scope["user"] is None:
        raise SignInNeededError


@get("/help", guards=[_needs_caller], sync_to_thread=True)
def help_front(request: AnyRequest) -> Template:
    """Show the front page of the documents."""
    return _show(request, CHAPTERS[0])


@get("/help/{chapter:str}", guards=[_needs_caller], sync_to_thread=True)
def help_chapter(request: AnyRequest, chapter: FromPath[str]) -> Template:
    """Show a chapter.

    Raises NotFoundError.
    """
    if chapter not in _BY_NAME:
        raise NotFoundError(chapter)
    return _show(request, _BY_NAME[chapter])


def _show(request: AnyRequest, chapter: Chapter) -> Template:
    context: dict[str, Any] = {"chapter": chapter, "chapters": CHAPTERS, "document": rendered(chapter)}
    if isinstance(request.user, Account):
        return page(request, "help.html", **context)
    return Template("help.html", context=context | {"account": None}, headers=NO_STORE)


@cache
def rendered(chapter: Chapter) -> Document:
    """Return a chapter's document; it is rendered once, because shipped files do not change."""
    return render(document(chapter.file).read_text(encoding="utf-8"), lambda target: resolve(chapter, target))


def resolve(chapter: Chapter, target: str) -> str | None:
    """Return the address of a link's target inside the help; None if the target is a file that is not shipped."""
    path, mark, fragment = target.partition("#")
    if "://" in path or not path:
        return target
    file = posixpath.normpath(posixpath.join(posixpath.dirname(chapter.file), path))
    if file in _BY_FILE:
        return _BY_FILE[file].address + mark + fragment
    asset = file.removeprefix(_ASSETS)
    return f"/assets/{asset}" if asset != file and (folder("templates") / "assets" / asset).is_file() else None
