"""A small GPT that learns a text character by character: the file `input.txt` of the data folder (--data)."""

import deep500 as d5
import deep500.frameworks.pytorch as d5fw
from recipes.recipe import run_recipe

FIXED = {
    "model": "gpt",
    "model_kwargs": {"layers": 4, "width": 128, "heads": 4, "dropout": 0.1},
    "dataset": "text_file",
    "dataset_kwargs": {"file": "input.txt", "length": 64},
    "task": "next_token",
    "train_sampler": d5.ShuffleSampler,
    "epochs": 10,
}

MUTABLE = {
    "batch_size": 64,
    "executor": d5fw.from_model,
    "optimizer": d5.optimizers.Adam,
    "optimizer_args": (0.001,),
}

METRICS = [
    (d5.FinalQuality("perplexity"), 5.0),
    (d5.FinalQuality("accuracy"), None),
    (d5.Throughput(), None),
]

TIERS = {
    "tiny": {
        "seeds": 2,
        "epochs": 2,
        "batch_size": 8,
        "model_kwargs": {"layers": 1, "width": 16, "heads": 2},
        "dataset_kwargs": {"length": 16},
    },
    "small": {
        "seeds": 3,
        "epochs": 5,
        "model_kwargs": {"layers": 2, "width": 64},
    },
}

if __name__ == "__main__":
    run_recipe(FIXED, MUTABLE, METRICS, tiers=TIERS) or exit(1)
