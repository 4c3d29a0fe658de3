"""Sessions as HTML: pieces for entries, a skeleton of the tree, and the page around them.

The viewer and the single file use the same pieces, style sheet and scripts (``static/``). Nothing here reads
files. Markdown and Pygments (extra ``html``) are imported when the first piece that needs them is rendered.
"""

from __future__ import annotations

from branchline.views.html.markup import Html, escape, join, template
from branchline.views.html.outline_columns import SkeletonColumns, skeleton_columns
from branchline.views.html.pieces import PieceOptions, PieceRenderer, day_heading

__all__ = [
    "Html",
    "PieceOptions",
    "PieceRenderer",
    "SkeletonColumns",
    "day_heading",
    "escape",
    "join",
    "skeleton_columns",
    "template",
]
