"""Batches per second: our loader against torch.utils.data.DataLoader.

    python benchmarks/loader.py [--budget 40] [--workers 2] [--seed 0] [--data JPEG map]

64 × 64 JPEG files (decoded by simplejpeg) with a random flip, a random crop and normalising; and float32 pictures of
64 × 64 in a memory map, as they are. Both loaders keep their workers from epoch to epoch and read two batches ahead for
each of them; an epoch is timed from its first request to its last batch, and every batch is looked at.

"DataLoader" has a Dataset of single examples, transformed one by one and collated by default_collate: what its
documentation shows. "DataLoader, whole batches" fetches by __getitems__ with exactly the code that our workers run, and
collates nothing: what is left is how batches are handed over. Ratios are paired, theirs / ours in time, which is ours /
theirs in throughput: the goal is 1.2 or more. "ours again" is the control: what is measured where nothing differs.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import PIL.Image
import simplejpeg
import torch
from torch.utils.data import DataLoader

import deep500 as d5
from deep500 import measure
from deep500.datasets.image_folder import ImageFolder
from deep500.datasets.numpy_files import NumpyFiles

SIDE = 64
BATCH = 64
PADDING = 4
MEAN = np.float32(127.5)
FACTOR = np.float32(1 / 64)
GOAL = 1.2
Epoch = Callable[[], None]


class Examples:
    """Single examples for a DataLoader, each in the way of its documentation."""

    def __init__(self, split: d5.Split, read: Callable[[int], np.ndarray]):
        self.split = split
        self.read = read
        self.labels = split.columns["label"][:]

    def __len__(self) -> int:
        return len(self.split)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, int]:
        return torch.from_numpy(self.read(index)), int(self.labels[index])


class WholeBatches:
    """Whole batches for a DataLoader, read by the code of our workers."""

    def __init__(self, split: d5.Split):
        self.split = split

    def __len__(self) -> int:
        return len(self.split)

    def __getitems__(self, indices: list[int]) -> dict[str, torch.Tensor]:
        batch = self.split.batch(np.array(indices))
        return {name: torch.from_numpy(values) for name, values in batch.items()}


def jpeg_reader(split: d5.Split) -> Callable[[int], np.ndarray]:
    """Decodes, flips, crops and normalises one picture."""
    paths = split.columns["x"].paths  # type: ignore[union-attr]
    random = Random(0)

    def read(index: int) -> np.ndarray:
        with open(paths[index], "rb", buffering=0) as file:
            pixels = simplejpeg.decode_jpeg(file.read(), "RGB")
        if random.random() < 0.5:
            pixels = pixels[:, ::-1]
        top, left = random.randint(0, 2 * PADDING), random.randint(0, 2 * PADDING)
        padded = np.zeros((SIDE + 2 * PADDING, SIDE + 2 * PADDING, 3), np.uint8)
        padded[PADDING:-PADDING, PADDING:-PADDING] = pixels
        cropped = padded[top : top + SIDE, left : left + SIDE]
        picture = cropped.transpose(2, 0, 1) - MEAN
        picture *= FACTOR
        return picture

    return read


def map_reader(split: d5.Split) -> Callable[[int], np.ndarray]:
    """One picture out of the memory map."""
    source, rows = split.columns["x"].source, split.columns["x"].rows  # type: ignore[union-attr]
    return lambda index: np.array(source[rows[index]])


def jpegs(folder: Path, count: int) -> d5.Split:
    """The training pictures of a folder of JPEG files, transformed."""
    random = np.random.default_rng(0)
    y, x = np.mgrid[0:SIDE, 0:SIDE]
    for label in range(4):
        (folder / str(label)).mkdir()
    for number in range(count):
        waves = [np.sin(x / p + y / q) for p, q in random.uniform(2, 20, (3, 2))]
        pixels = 128 + 90 * np.stack(waves, -1) + random.normal(0, 12, (SIDE, SIDE, 3))
        image = PIL.Image.fromarray(pixels.clip(0, 255).astype(np.uint8))
        image.save(folder / str(number % 4) / f"{number}.jpg", quality=90)
    train = ImageFolder(str(folder), dtype="uint8").load()["train"]
    deviation = float(1 / FACTOR)
    return train.transformed(
        d5.augmentations.RandomFlip(),
        d5.augmentations.RandomCrop(padding=PADDING),
        d5.augmentations.Normalise(mean=(float(MEAN),), deviation=(deviation,)),
    )


def memory_maps(folder: Path, count: int) -> d5.Split:
    pictures = np.random.default_rng(0).random((count, 3, SIDE, SIDE), np.float32)
    np.save(folder / "x.npy", pictures)
    np.save(folder / "label.npy", np.arange(count) % 4)
    return NumpyFiles(folder=str(folder)).load()["train"]


def our_epoch(split: d5.Split, workers: int) -> Epoch:
    loader = d5.Loader(split, workers)
    sampler = d5.ShuffleSampler(BATCH)
    epochs = iter(range(1 << 30))

    def run() -> None:
        epoch = next(epochs)
        look_at(
            batch["x"]
            for batch in loader.batches(sampler.epoch(len(split), epoch), epoch)
        )

    return run


def their_epoch(dataset: Any, workers: int, collate: Callable | None = None) -> Epoch:
    settings: dict[str, Any] = {"collate_fn": collate} if collate else {}
    loader = DataLoader(
        dataset,
        batch_size=BATCH,
        shuffle=True,
        num_workers=workers,
        persistent_workers=True,
        prefetch_factor=2,
        **settings,
    )

    def run() -> None:
        look_at(batch["x"] if collate else batch[0] for batch in loader)

    return run


def identity(batch: Any) -> Any:
    return batch


def look_at(pictures: Iterator[Any]) -> None:
    """Touches every batch, so that none is handed over unread."""
    for batch in pictures:
        float(batch[-1, 0, 0, 0])


def compare(
    title: str, epochs: dict[str, Epoch], examples: int, args: argparse.Namespace
) -> bool:
    for run in epochs.values():
        run()  # starts the workers
    result = measure.run(epochs, budget_s=args.budget / len(args.data), seed=args.seed)
    print(f"{title}, {args.workers} workers, batches of {BATCH}:")
    reached = True
    for name in epochs:
        seconds = np.median(np.concatenate(result.samples(name), axis=None))
        print(f"  {name:26} {examples / seconds:9.0f} examples/s")
    for name in epochs:
        if name == "ours":
            continue
        try:
            answer = result.compare("ours", name)
        except measure.TooFewSamples as reason:
            print(f"  {name:26} inconclusive: {reason}")
            reached = reached and name != "DataLoader"
            continue
        print(
            f"  {name:26} takes {answer.ratio:.2f} × the time of ours "
            f"[{answer.low:.2f}, {answer.high:.2f}], n = {answer.n}"
        )
        if name == "DataLoader":
            reached = answer.ratio >= GOAL
    print(f"  goal {GOAL}: {'reached' if reached else 'missed'}")
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--budget", type=float, default=40.0)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--examples", type=int, default=1600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument(
        "--data", nargs="+", default=["JPEG", "map"], choices=["JPEG", "map"]
    )
    args = parser.parse_args()
    torch.set_num_threads(1)
    reached = []
    kinds = {"JPEG": (jpegs, jpeg_reader), "map": (memory_maps, map_reader)}
    for kind in args.data:
        make, reader = kinds[kind]
        with tempfile.TemporaryDirectory() as folder:
            split = make(Path(folder), args.examples)
            ours = our_epoch(split, args.workers)
            examples = Examples(split, reader(split))
            epochs = {
                "ours": ours,
                "ours again": ours,
                "DataLoader": their_epoch(examples, args.workers),
                "DataLoader, whole batches": their_epoch(
                    WholeBatches(split), args.workers, identity
                ),
            }
            reached.append(compare(kind, epochs, len(split), args))
    return 0 if all(reached) else 1


if __name__ == "__main__":
    sys.exit(main())
