"""A report in a notebook: the page in a frame of its own, with Markdown and text for what shows no HTML."""

from collections.abc import Collection

from .blocks import Report
from .html import html
from .markdown import markdown
from .markup import escaped
from .terminal import terminal

STYLE = "width: 100%; height: 34em; border: 0; resize: vertical; overflow: auto"


def html_frame(report: Report) -> str:
    """The page in a frame, so that its style and that of the notebook do not meet; nothing in it may run."""
    page = escaped(html(report))
    title = escaped(report.title)
    return f'<iframe sandbox srcdoc="{page}" title="{title}" style="{STYLE}"></iframe>'


def mimebundle(
    report: Report,
    include: Collection[str] | None = None,
    exclude: Collection[str] | None = None,
) -> dict[str, str]:
    """The report in every form that a notebook asks for, as IPython's `_repr_mimebundle_` returns it."""
    forms = {
        "text/html": html_frame,
        "text/markdown": markdown,
        "text/plain": lambda shown: terminal(shown, drawn=False),
    }
    bundle = {}
    for form, render in forms.items():
        is_wanted = not include or form in include
        if is_wanted and form not in (exclude or ()):
            bundle[form] = render(report)
    return bundle
