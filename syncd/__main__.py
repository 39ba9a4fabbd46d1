"""``python -m syncd``."""

from syncd.cli import main

if __name__ == "__main__":
    main()
