"""Plot the curves of a run."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from ...errors import Deep500Error, one_line
from .arguments import check_writable
from .event import Event
from .qualities import main_quality, validation_values

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..trainer import Trainer

FORMATS = (".png", ".svg", ".pdf")
DOTS_PER_INCH = 150


class SaveCurves(Event):
    """Plots loss over steps and a quality over epochs (by default the task's first) into one file, after every epoch.

    The suffix of the path determines the format: .png, .svg or .pdf.
    """

    order = 1

    def __init__(self, path: str | Path, quality: str | None = None):
        self.path = Path(path)
        self.quality = quality
        if self.path.suffix not in FORMATS:
            formats = ", ".join(FORMATS)
            raise Deep500Error(
                f"curves cannot be drawn into {str(path)!r}: its name ends in {formats}"
            )

    def before_epoch(self, trainer: "Trainer", epoch: int) -> None:
        # raises an error if there is no such quality
        main_quality(trainer, self.quality)
        check_writable(self.path)

    def after_epoch(self, trainer: "Trainer", record: dict[str, Any]) -> None:
        from ...reports.canvas import figure, settings

        with settings():
            canvas = figure(3.2)
            loss_axes, quality_axes = canvas.subplots(1, 2)
            self._draw_losses(loss_axes, trainer)
            self._draw_quality(quality_axes, trainer)
            try:
                canvas.savefig(self.path, dpi=DOTS_PER_INCH, facecolor="white")
            except OSError as error:
                raise Deep500Error(
                    f"{self.path} cannot be written: {one_line(error)}"
                ) from None

    def _draw_losses(self, axes: "Axes", trainer: "Trainer") -> None:
        losses = trainer.series["loss"]
        steps = range(1, len(losses) + 1)
        axes.plot(steps, losses, lw=0.9)
        axes.set_xlabel("step")
        axes.set_ylabel("training loss")
        axes.grid()

    def _draw_quality(self, axes: "Axes", trainer: "Trainer") -> None:
        quality = main_quality(trainer, self.quality)
        epochs = [record["epoch"] for record in trainer.evaluations]
        values = validation_values(trainer, quality)
        axes.plot(epochs, values, marker="o", ms=3, lw=1.2)
        axes.set_xlabel("epoch")
        label = f"validation {quality.name}"
        if quality.unit:
            label += f" ({quality.unit})"
        axes.set_ylabel(label)
        axes.grid()
