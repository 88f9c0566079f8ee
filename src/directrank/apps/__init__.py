"""Applications, on the public names of the core."""

from directrank.registries import BUNDLED

BUNDLED["papers"] = "directrank.apps.papers"
