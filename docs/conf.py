"""The documentation site: `nox -s docs` writes it to site/.

The pages are the Markdown files of this folder, in the order of index.md; README is the first. The reference
is made from docstrings, and generated.py makes pages and tables from declarations.
"""

import inspect
import json
import re
import sys
import warnings
from importlib import import_module
from importlib.metadata import version
from pathlib import Path

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml

sys.path.insert(0, str(Path(__file__).parent))
from generated import PAGES, api_pages

project, author, language = "directrank", "the directrank developers", "en"
version = release = version("directrank")
extensions = [
    "myst_parser", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.viewcode", "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]  # fmt: skip
exclude_patterns = ["examples", "gallery/*.rst", "reference/table_of_*.md", "reference/traits.md"]
sphinx_gallery_conf = {
    "examples_dirs": "gallery", "gallery_dirs": "pictures", "backreferences_dir": "pictures/uses",
    "doc_module": ("directrank",), "plot_gallery": True, "abort_on_example_error": True,
    "download_all_examples": False, "min_reported_time": 20, "show_memory": False,
    "show_signature": False, "write_computation_times": False,
}  # fmt: skip
suppress_warnings = ["config.cache"]  # Sphinx-Gallery's configuration holds functions.
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
numpydoc_show_class_members = False
warnings.filterwarnings("ignore", "Unknown section Traits")  # `docstring` knows it.
numpydoc_class_members_toctree = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"
# Made by scikit-learn, with its own documentation.
autodoc_default_options = {
    "exclude-members": "set_fit_request, set_predict_request, set_score_request, set_transform_request",
}
copybutton_prompt_text = ">>> |\\$ "
copybutton_prompt_is_regexp = True
html_math_renderer = "mathml"
html_theme, html_title = "pydata_sphinx_theme", "directrank"
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_end": ["versions", "theme-switcher", "navbar-icon-links"],
    "show_toc_level": 2,
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"start": []}  # A page without others below it has no list of its section.
templates_path = ["templates"]
# Sites of releases lie beside each other, each in the folder of its version.
html_context = {"versions": json.loads(Path(__file__).with_name("versions.json").read_text("utf-8"))}
if version not in html_context["versions"]:
    raise ValueError(f"docs/versions.json does not name {version}")
html_static_path, html_css_files = ["_static"], ["site.css"]
html_copy_source = html_show_sourcelink = False
html_show_search_summary = False  # Browsers do not let a page from a file:// URL read another one.


def generate(app) -> None:
    """Write the pages that are made from declarations."""
    pages = {name: page() for name, page in PAGES.items()} | api_pages()
    (app.srcdir / "reference" / "api").mkdir(exist_ok=True)
    for name, text in pages.items():
        (app.srcdir / name).write_text(text, encoding="utf-8")


def import_public_names(app) -> None:
    """Import what a package imports on first use: Sphinx lists the names that a module has."""
    for page in (app.srcdir / "reference").glob("*.md"):
        for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8")):
            module = import_module(name)
            vars(module).update({public: getattr(module, public) for public in module.__all__})


def check_reference(app, env) -> None:
    """Refuse a public class or function, of a package with a page of the reference, that no page has."""
    documented = env.domains["py"].objects
    for page in (app.srcdir / "reference").glob("*.md"):
        for name in re.findall(r"automodule:: (\S+)", page.read_text("utf-8")):
            module = import_module(name)
            for public in module.__all__:
                entries = f"{name}.{public}", f"directrank.{public}"
                value = getattr(module, public)
                is_code = inspect.isclass(value) or inspect.isfunction(value)
                if is_code and value.__doc__ and not any(entry in documented for entry in entries):
                    raise ValueError(f"{page.name} has no entry for {public}")


#: Formulas and code, or what in running text would begin a substitution, end a reference, or be an address of
#: mail, as nDCG@10 is; and the first initial of an author, which would begin a list.
MARKUP = re.compile(
    r"(^ *\.\. math::.*(?:\n(?: +.*)?)*|``[^`]+``|`[^`]*`|\[\d\]_)"
    r"|\||(?<=\w)(?:_(?!\w)|@(?=\w))|(?<=\] [A-Z])\.",
    re.M,
)


def docstring(app, what, name, obj, options, lines: list[str]) -> None:
    """Make plain text of what reStructuredText would take for markup, before numpydoc reads a docstring.

    A section Traits goes before all sections: numpydoc does not know it. Methods cite the references of their
    class, which are elsewhere.
    """
    text = "\n".join(lines)
    if "\nReferences\n" not in text:
        text = re.sub(r" \[\d\]_", "", text)
    text = MARKUP.sub(lambda found: found[1] or f"\\{found[0]}", text)
    if traits := re.search(r"\nTraits\n-+\n(.*?)\n\n", text, re.S):
        text = text.replace(traits[0], "\n")
        first = re.search(r"\n[A-Z][A-Za-z ]+\n---", text)
        at = first.start() if first else len(text)
        text = f"{text[:at]}\n**Traits**: {traits[1]}\n{text[at:]}"
    lines[:] = text.split("\n")


def examples(app, what, name, obj, options, lines: list[str]) -> None:
    """List the scripts of the gallery that use a class or function, after numpydoc has read its docstring."""
    uses = Path(app.srcdir, "pictures", "uses", f"{name}.examples")
    if what in ("class", "function") and uses.is_file() and uses.stat().st_size:
        lines += ["", ".. rubric:: In the gallery", "", f".. minigallery:: {name}", ""]


def skipped(app, what, name, obj, skip, options) -> bool | None:
    """Leave out tables and declarations: they are long, and what they say is said of each thing itself."""
    return True if isinstance(obj, (tuple, dict, frozenset, bool)) else None


def repository_links(app, page: str, source: list[str]) -> None:
    """Point links to files of the repository's root at their pages."""
    source[0] = source[0].replace("](../README.md", "](index.md").replace("](../", "](")


def formula(writer, node) -> None:
    """Write a formula as MathML, which browsers show without a script from elsewhere."""
    block = node.tagname == "math_block"
    tex = f"\\begin{{split}}{node.astext()}\\end{{split}}" if "\\\\" in node.astext() else node.astext()
    mathml = tex2mathml(tex, as_block=block)
    writer.body.append(f'<div class="math">{mathml}</div>' if block else mathml)
    raise nodes.SkipNode


#: Links of all pages: inside the site, and to other sites.
LINKS = {"internal": 0, "external": 0}


def count_links(app, doctree, page: str) -> None:
    """Count the links of a page; Sphinx has looked for the targets of internal ones."""
    for each in doctree.findall(nodes.reference):
        LINKS["external" if each.get("refuri", "").startswith(("http:", "https:")) else "internal"] += 1


def print_counts(app, error) -> None:
    """Print the numbers of pages, links and blocks of code, which tests/interface/test_docs.py runs."""
    if error or app.builder.name != "html":
        return
    pages = [app.srcdir.parent / "README.md", *app.srcdir.glob("*.md")]
    text = "\n".join(page.read_text("utf-8") for page in pages)
    blocks, not_run = (len(re.findall(each, text, re.M)) for each in (
        "^```(?:python|console)$", r"^<!-- not executed: [^>]+ -->\n```(?:python|console)$"))  # fmt: skip
    scripts = len(list((app.srcdir / "gallery").glob("plot_*.py")))
    print(
        f"{len(app.env.all_docs)} pages, {blocks} code blocks ({blocks - not_run} executed by the tests, "
        f"{not_run} marked not to run), {scripts} scripts of the gallery, "
        f"{LINKS['internal']} internal links, {LINKS['external']} external links"
    )


def setup(app) -> None:
    """Register what is made before the build, and what is changed while it reads and writes."""
    app.add_html_math_renderer("mathml", (formula, None), (formula, None))
    app.connect("builder-inited", generate)
    app.connect("builder-inited", import_public_names)
    app.connect("env-check-consistency", check_reference)
    app.connect("source-read", repository_links)
    app.connect("doctree-resolved", count_links)
    app.connect("build-finished", print_counts)
    app.connect("autodoc-skip-member", skipped)
    app.connect("autodoc-process-docstring", docstring, priority=100)
    app.connect("autodoc-process-docstring", examples, priority=900)
