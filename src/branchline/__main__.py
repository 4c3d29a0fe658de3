"""``python -m branchline`` is the command line."""

from branchline.cli import main

if __name__ == "__main__":
    main()
