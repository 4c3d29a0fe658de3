"""The use cases: export, import, convert, repair, check, seal, resume, remove and inspect.

Each is a function that returns a frozen record. Nothing here prints; failures are errors of
:mod:`branchline.errors`. The command line, the browser, the chat and Python call the same functions.
"""
