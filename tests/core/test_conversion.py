"""Conversion to declared types, in several threads at once."""

import os
import subprocess
import sys
from pathlib import Path

import msgspec
import pytest

from antechamber.core import conversion
from antechamber.core.conversion import convert, json_decoder, parse_json


class Part(msgspec.Struct):
    """A part of a value."""

    number: int


class Whole(msgspec.Struct):
    """A value with parts."""

    parts: list[Part]


THREADS = """
import sys, threading, types
import msgspec
from antechamber.core.conversion import convert, json_decoder, parse_json

CODE = '''
from __future__ import annotations
import msgspec
class Part(msgspec.Struct):
    number: int
    text: str | None = None
class Whole(msgspec.Struct):
    first: Part
    parts: list[Part]
    others: dict[str, Part] | None = None
'''
VALUE = {"first": {"number": 1}, "parts": [{"number": 2}]}
sys.setswitchinterval(1e-6)

def begin(ways):
    start = threading.Barrier(len(ways))
    def run(way):
        start.wait()
        way()
    threads = [threading.Thread(target=run, args=[way]) for way in ways]
    for one in threads:
        one.start()
    for one in threads:
        one.join()

for number in range(300):
    module = types.ModuleType(f"module{number}")
    sys.modules[module.__name__] = module
    exec(CODE, module.__dict__)
    raw = msgspec.json.encode(VALUE)
    begin([
        lambda: convert(VALUE, module.Whole),
        lambda: parse_json(raw, module.Whole),
        lambda: json_decoder(list[module.Whole]).decode(b"[" + raw + b"]"),
        lambda: convert([VALUE["first"]], list[module.Part]),
    ])
print("done")
"""
"""Rounds with new types, each of which four threads use before any other did."""


def test_threads_may_be_the_first_to_convert_to_a_type() -> None:
    """A process survives threads that convert to a type and to its parts at once, before any other did."""
    place = Path(conversion.__file__).parents[2]
    done = subprocess.run(  # noqa: S603 -- our own program
        [sys.executable, "-c", THREADS],
        env=os.environ | {"PYTHONPATH": str(place)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")


def test_values_and_json_become_their_types() -> None:
    """A value of another type is refused, unless the conversion is not strict."""
    whole = Whole([Part(1)])
    assert convert({"parts": [{"number": 1}]}, Whole) == whole
    assert convert({"parts": [{"number": "1"}]}, Whole, strict=False) == whole
    assert convert(whole, Whole, from_attributes=True) == whole
    assert parse_json('{"parts": [{"number": 1}]}', Whole) == whole
    assert json_decoder(list[Part]).decode(b'[{"number": 1}]') == whole.parts
    for wrong in ({"parts": [{"number": "1"}]}, {"parts": 1}, {}):
        with pytest.raises(msgspec.ValidationError):
            convert(wrong, Whole)
        with pytest.raises(msgspec.ValidationError):
            parse_json(msgspec.json.encode(wrong), Whole)
    with pytest.raises(msgspec.DecodeError):
        parse_json("{", Whole)
