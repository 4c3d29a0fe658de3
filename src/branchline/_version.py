"""What is installed: the version, and how an extra is added to it."""

__version__ = "0.1.0"


def install_extra(name: str) -> str:
    """Return the command that adds an extra.

    It names a checkout: no package index holds branchline yet, so its name alone would install whatever
    somebody else registers under it.
    """
    return f"in a checkout of branchline: pip install '.[{name}]'"
