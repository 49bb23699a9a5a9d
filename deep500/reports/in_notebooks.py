"""The base class of what has a report: a notebook shows it, where Python prints the object."""

from collections.abc import Collection

from .blocks import Report


class InNotebooks:
    """Adds what IPython asks objects for; the renderers are imported when a notebook asks."""

    def report(self) -> Report:
        raise NotImplementedError

    def _repr_mimebundle_(
        self,
        include: Collection[str] | None = None,
        exclude: Collection[str] | None = None,
    ) -> dict[str, str]:
        from .notebook import mimebundle

        return mimebundle(self.report(), include, exclude)

    def _repr_html_(self) -> str:
        from .notebook import html_frame

        return html_frame(self.report())
