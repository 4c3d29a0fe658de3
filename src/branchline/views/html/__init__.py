"""Sessions as HTML: pieces for entries, a skeleton of the tree, and the page around them.

The viewer and the single file use the same pieces, style sheet and scripts (``static/``). Nothing here reads
files. Markdown and Pygments (extra ``html``) are imported when the first piece that needs them is rendered.
"""
