"""Pictures of every page of the desk, in every state worth seeing: in three sizes, light and dark.

They are written into .screenshots, which git ignores, to be looked at.
"""

import argparse
import contextlib
import shutil
import subprocess
import sys
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from lib import readme_pictures
from lib.desk_tour import Tour, Visit, chromium, policies
from lib.processes import free_port, workplace

ROOT: Final = Path(__file__).resolve().parents[2]
SIZES: Final[dict[str, dict[str, Any]]] = {
    "wide": {"viewport": {"width": 1280, "height": 900}},
    "phone": {"viewport": {"width": 390, "height": 844}, "has_touch": True, "is_mobile": True},
    "narrow": {"viewport": {"width": 320, "height": 720}},
}
VIEWS: Final[dict[str, dict[str, Any]]] = {
    size if scheme == "light" else f"{size}-{scheme}": options | {"color_scheme": scheme}
    for scheme in ("light", "dark")
    for size, options in SIZES.items()
}
_TALLEST: Final = 4000
"""Maximum height of a picture in pixels; further down, long texts look the same."""


@contextlib.contextmanager
def serving(folder: Path) -> Iterator[tuple[str, list[str]]]:
    """Serve a fresh folder; yield its address and the command-line options for its location."""
    where, port = ["--data", str(folder / "data")], free_port()
    command = [
        sys.executable,
        "-m",
        "antechamber.cli",
        "serve",
        *where,
        "--policies",
        str(policies(folder / "policies")),
    ]
    process = subprocess.Popen([*command, "--port", str(port)], stdout=subprocess.PIPE)  # noqa: S603 -- our own program
    try:
        if not (process.stdout and process.stdout.readline()):
            sys.exit("The service did not start; its message is above.")
        yield f"http://127.0.0.1:{port}", where
    finally:
        process.terminate()
        process.communicate(timeout=30)


def main() -> None:
    """Take the pictures."""
    parser = argparse.ArgumentParser(prog="scripts/screenshots", description=__doc__)
    parser.add_argument("--out", type=Path, default=ROOT / ".screenshots", help="folder of the pictures, emptied first")
    parser.add_argument("--only", default="", help="pages whose name holds this")
    parser.add_argument("--views", default=",".join(VIEWS), help="views, separated by commas (default: all)")
    parser.add_argument("--readme", action="store_true", help="take the two pictures of README.md instead")
    arguments = parser.parse_args()
    if arguments.readme:
        with workplace() as folder, serving(folder) as (url, where), chromium() as browser:
            print(*readme_pictures.take(url, where, browser), sep="\n")
        return
    shutil.rmtree(arguments.out, ignore_errors=True)
    arguments.out.mkdir(parents=True)
    with workplace() as folder, serving(folder) as (url, where), chromium() as browser:
        tour = Tour(url, where, browser)
        taken = _take(tour, tour.empty(), arguments)
        tour.fill()
        taken += _take(tour, tour.full(), arguments)
    print(f"{taken} pictures in {arguments.out}")


def _take(tour: Tour, pages: Iterable[tuple[str, str, Visit]], arguments: argparse.Namespace) -> int:
    taken = 0
    for name, person, visit in pages:
        if arguments.only not in name:
            continue
        for view, options in ((view, VIEWS[view]) for view in arguments.views.split(",")):
            with tour.window(person, **options) as opened:
                page = opened.new_page()
                visit(page)
                height = min(page.evaluate("document.documentElement.scrollHeight"), _TALLEST)
                page.set_viewport_size({"width": options["viewport"]["width"], "height": max(height, 500)})
                page.screenshot(path=arguments.out / f"{name}-{view}.png")
                taken += 1
        print(f"{name}", file=sys.stderr, flush=True)
    return taken


if __name__ == "__main__":
    main()
