"""The interfaces of five other session systems, over :class:`~branchline.Session` and the library.

Each module has the names, arguments, results and errors that the documentation of one system describes, so
that code written for that system runs with another import. A module translates names; the core does the work.
"""
