"""`python -m directrank` is the command `directrank`."""

import sys

from directrank.apps.cli import main

if __name__ == "__main__":
    sys.exit(main())
