"""A Keras callback that records what `model.fit` does."""

from typing import Any, Protocol

import keras  # type: ignore[import-untyped]


class Recorder(Protocol):
    """What takes the numbers: a run of `d5.instrument`."""

    def begin(self) -> None: ...

    def region(self, name: str) -> Any: ...

    def step(self, examples: int | None = None, **values: Any) -> None: ...

    def evaluation(self, split: str = "validation", **qualities: Any) -> None: ...


class FitCallback(keras.callbacks.Callback):
    """Every batch is a step, with the region "step"; what lies between batches is the data's.

    Keras hands its callbacks the mean of the loss over the epoch so far, not the loss of the batch: it is recorded as
    "mean_loss". The validation qualities of an epoch are those that Keras names "val_…".
    """

    def __init__(self, recorder: Recorder, batch_size: int, examples: int):
        super().__init__()
        self.recorder = recorder
        self.batch_size, self.examples = batch_size, examples
        self.seen = 0  # examples of this epoch
        self.open_regions: list[Any] = []

    def on_epoch_begin(self, epoch: int, logs: dict | None = None) -> None:
        self.seen = 0
        self.recorder.begin()
        self._enter("data")

    def on_train_batch_begin(self, batch: int, logs: dict | None = None) -> None:
        self._leave()
        self._enter("step")

    def on_train_batch_end(self, batch: int, logs: dict | None = None) -> None:
        self._leave()
        size = min(self.batch_size, self.examples - self.seen)
        self.seen += size
        self.recorder.step(examples=size, mean_loss=(logs or {})["loss"])
        self._enter("data")

    def on_test_begin(self, logs: dict | None = None) -> None:
        self._leave()
        self._enter("evaluation")

    def on_test_end(self, logs: dict | None = None) -> None:
        self._leave()

    def on_epoch_end(self, epoch: int, logs: dict | None = None) -> None:
        self._leave()
        qualities = {}
        for name, value in (logs or {}).items():
            if name.startswith("val_"):
                qualities[name.removeprefix("val_")] = value
        if qualities:
            self.recorder.evaluation(**qualities)

    def _enter(self, name: str) -> None:
        region = self.recorder.region(name)
        region.__enter__()
        self.open_regions.append(region)

    def _leave(self) -> None:
        while self.open_regions:
            self.open_regions.pop().__exit__(None, None, None)
