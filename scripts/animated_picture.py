"""Generate the animation in README: the real program with the demo library, as one animated SVG.

`make screenshots` regenerates it. Without animation, the first frame is shown.
"""

from __future__ import annotations

import asyncio
import html
import os
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from rich.color import ColorType
from rich.segment import Segment
from rich.style import Style
from rich.terminal_theme import DIMMED_MONOKAI
from screenshots import app_over_demo, enter_demo, settle
from textual.strip import Strip

SIZE = (92, 26)
_CELL, _LINE = 8.4, 18
_MARGIN = 10
_INK, _GROUND = "#ebe8e1", "#151513"


class Scene(NamedTuple):
    """Keys to press, and how many seconds to show the screen after each and after the last."""

    keys: tuple[str, ...]
    each: float = 0
    rest: float = 2.0


SCENES = (
    Scene((), rest=1.8),
    Scene(("h", "a", "r", "b", "o", "u", "r"), each=0.16, rest=2.6),
    Scene(("f3", "f3"), each=0.5, rest=1.4),
    Scene(("enter",), rest=3.0),
    Scene(("escape", "ctrl+t"), rest=3.0),
    Scene(("enter",), rest=2.4),
)


class Frame(NamedTuple):
    """A screen, and for how many seconds it is shown."""

    rows: tuple[str, ...]
    seconds: float


def _hex(style: Style, *, ground: bool = False) -> str:
    color = style.bgcolor if ground else style.color
    if style.reverse:
        color = style.color if ground else style.bgcolor
    if color is None or color.type == ColorType.DEFAULT:
        return _INK if ground == bool(style.reverse) else _GROUND
    return color.get_truecolor(DIMMED_MONOKAI, foreground=not ground).hex


def _row(strip: Strip, number: int) -> str:
    """Return one screen line as SVG; spaces on the default background are left out."""
    parts: list[str] = []
    column = 0
    top = number * _LINE
    for segment in Segment.simplify(strip):
        text, style = segment.text, segment.style or Style.null()
        ground = _hex(style, ground=True)
        if ground != _GROUND:
            width = round(len(text) * _CELL, 1)
            parts.append(
                f'<rect x="{column * _CELL:g}" y="{top}" width="{width:g}" height="{_LINE}" fill="{ground}"/>'
            )
        if text.strip():
            lead = len(text) - len(text.lstrip())
            shown = text.strip().replace(" ", "\u00a0")
            look = ' font-weight="bold"' if style.bold else ""
            look += ' text-decoration="underline"' if style.underline else ""
            ink = _hex(style)
            look += f' fill="{ink}"' if ink != _INK else ""
            x = round((column + lead) * _CELL, 1)
            length = round(len(shown) * _CELL, 1)
            parts.append(
                f'<text x="{x:g}" y="{top + 13}" textLength="{length:g}"{look}>{html.escape(shown, quote=False)}</text>'
            )
        column += len(text)
    return "".join(parts)


async def frames() -> list[Frame]:
    """Drive the program through all scenes."""
    app = app_over_demo("dark")
    taken: list[Frame] = []

    def take(seconds: float) -> None:
        strips = app.screen._compositor.render_strips()  # noqa: SLF001  the terminal output
        rows = tuple(_row(strip, number) for number, strip in enumerate(strips))
        if taken and taken[-1].rows == rows:
            taken[-1] = taken[-1]._replace(seconds=taken[-1].seconds + seconds)
        else:
            taken.append(Frame(rows, seconds))

    async with app.run_test(size=SIZE) as pilot:
        await settle(pilot)
        for scene in SCENES:
            for key in scene.keys:
                await pilot.press(key)
                if scene.each:
                    await settle(pilot)
                    take(scene.each)
            await settle(pilot)
            take(scene.rest)
    return taken


def drawn(taken: list[Frame]) -> Iterator[str]:
    """Yield the SVG. Each distinct line is written once, and each frame refers to its lines."""
    width, height = SIZE[0] * _CELL + 2 * _MARGIN, SIZE[1] * _LINE + 2 * _MARGIN
    whole = sum(frame.seconds for frame in taken)
    names: dict[str, str] = {}
    for frame in taken:
        for row in frame.rows:
            if row:
                names.setdefault(row, f"r{len(names)}")
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {height:g}" role="img" '
        "font-family=\"ui-monospace, 'JetBrains Mono', 'DejaVu Sans Mono', Menlo, Consolas, monospace\" "
        f'font-size="14" fill="{_INK}">'
    )
    yield "<title>branchline: search all sessions, open a hit, see its tree</title>"
    yield "<style>"
    yield f".f{{visibility:hidden;animation:{whole:g}s step-end infinite}}#f0{{visibility:visible}}"
    start = 0.0
    for number, frame in enumerate(taken):
        begin, end = 100 * start / whole, 100 * (start + frame.seconds) / whole
        before = "0%{visibility:hidden}" if number else ""
        after = f"{end:.2f}%{{visibility:hidden}}" if number + 1 < len(taken) else ""
        yield f"@keyframes k{number}{{{before}{begin:.2f}%{{visibility:visible}}{after}}}#f{number}{{animation-name:k{number}}}"
        start += frame.seconds
    yield "@media (prefers-reduced-motion:reduce){.f{animation:none}}"
    yield "</style><defs>"
    for row, name in names.items():
        yield f'<g id="{name}">{row}</g>'
    yield f'</defs><rect width="{width:g}" height="{height:g}" rx="6" fill="{_GROUND}"/>'
    yield f'<g transform="translate({_MARGIN} {_MARGIN})">'
    for number, frame in enumerate(taken):
        used = "".join(f'<use href="#{names[row]}"/>' for row in frame.rows if row)
        yield f'<g class="f" id="f{number}">{used}</g>'
    yield "</g></svg>"


def main() -> None:
    target = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        enter_demo(folder)
        picture = "\n".join(drawn(asyncio.run(frames()))) + "\n"
        os.chdir(target.parent)
    target.write_text(picture, encoding="utf-8")


if __name__ == "__main__":
    main()
