"""The command line: ``python -m gbdt_objectives``."""

from __future__ import annotations

import sys


def main() -> None:
    """Run the command that the command line names."""
    try:
        from gbdt_objectives._command_line.commands import cli
    except ImportError as error:
        if error.name != "click":
            raise
        print("Error: click is not installed: pip install 'gbdt_objectives[cli]'", file=sys.stderr)
        sys.exit(2)
    cli()


if __name__ == "__main__":
    main()
