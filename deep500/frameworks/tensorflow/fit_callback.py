"""A Keras callback that records what `model.fit` does."""

from typing import Any, Protocol

import keras  # type: ignore[import-untyped]


class StepRecorder(Protocol):
    """The interface of the object that stores the measurements: a run of `d5.instrument`."""

    def begin(self) -> None: ...

    def region(self, name: str) -> Any: ...

    def step(self, examples: int | None = None, **values: Any) -> None: ...

    def evaluation(self, split: str = "validation", **qualities: Any) -> None: ...


class FitCallback(keras.callbacks.Callback):
    """Records every batch as a step in the region "step", and the time between batches in the region "data".

    Keras passes the mean of the loss over the epoch so far to its callbacks, not the loss of the batch; it is recorded
    as "mean_loss". The qualities of a validation are the values that Keras names "val_…".
    """

    def __init__(self, recorder: StepRecorder, batch_size: int, examples: int):
        super().__init__()
        self.recorder = recorder
        self.batch_size = batch_size
        self.examples = examples
        self.seen = 0  # examples in this epoch
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
        remaining = self.examples - self.seen
        size = min(self.batch_size, remaining)
        self.seen += size
        mean_loss = (logs or {})["loss"]
        self.recorder.step(examples=size, mean_loss=mean_loss)
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
                quality = name.removeprefix("val_")
                qualities[quality] = value
        if qualities:
            self.recorder.evaluation(**qualities)

    def _enter(self, name: str) -> None:
        region = self.recorder.region(name)
        region.__enter__()
        self.open_regions.append(region)

    def _leave(self) -> None:
        while self.open_regions:
            region = self.open_regions.pop()
            region.__exit__(None, None, None)
