"""Trainings in PyTorch: a token model, batch norm with dropout, Adam by steps alone, autocast to bfloat16."""

import torch
from torch import nn
from torch.nn import functional as F


class Tokens:
    """A token-weighted loss, accumulated as a trainer does: backward() of every micro-batch."""

    def __init__(self, bug="", autocast=False):
        torch.manual_seed(0)
        self.bug, self.autocast = bug, autocast
        self.model = nn.Sequential(nn.Linear(6, 16), nn.Tanh(), nn.Linear(16, 4))
        self.optimizer: torch.optim.Optimizer
        self.optimizer = torch.optim.AdamW(self.model.parameters(), 1e-2)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)

    def batch(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(8, 5, 6, generator=generator)
        label = torch.randint(0, 4, (8, 5), generator=generator)
        lengths = torch.tensor([5, 1, 2, 4, 1, 3, 5, 2])
        label[torch.arange(5) >= lengths[:, None]] = -100
        return {"x": x, "label": label}

    def accumulate(self, micro_batches):
        if self.bug != "not reset":
            self.optimizer.zero_grad()
        tokens = sum((part["label"] >= 0).sum() for part in micro_batches)
        total = 0.0
        for part in micro_batches:
            with torch.autocast("cpu", torch.bfloat16, self.autocast):
                logits = self.model(part["x"]).reshape(-1, 4)
            label = part["label"].reshape(-1)
            if self.bug == "mean of means":
                loss = F.cross_entropy(logits.float(), label) / len(micro_batches)
            else:
                loss = F.cross_entropy(logits.float(), label, reduction="sum") / tokens
            loss.backward()
            total += loss.item()
        if self.bug == "clips parts" and len(micro_batches) > 1:
            nn.utils.clip_grad_norm_(self.model.parameters(), 0.01)
        return total

    def gradients(self, micro_batches):
        self.accumulate(micro_batches)
        return {n: p.grad for n, p in self.model.named_parameters()}

    def step(self, micro_batches):
        loss = self.accumulate(micro_batches)
        self.optimizer.step()
        self.schedule.step()
        return loss

    def state(self):
        state = {"model": self.model.state_dict()}
        if self.bug != "no optimizer":
            state["optimizer"] = self.optimizer.state_dict()
        if self.bug != "no schedule":
            state["schedule"] = self.schedule.state_dict()
        return state

    def load(self, state):
        for name, part in state.items():
            getattr(self, name).load_state_dict(part)

    def evaluate(self, batch):
        with torch.no_grad():
            self.model(batch["x"])


class Normed(Tokens):
    """Batch norm and dropout, on images of a kind."""

    def __init__(self, bug="", dropout=0.0):
        super().__init__(bug)
        layers = [nn.Linear(6, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Dropout(dropout)]
        self.model = nn.Sequential(*layers, nn.Linear(16, 4))
        self.optimizer = torch.optim.SGD(self.model.parameters(), 0.1, momentum=0.9)
        self.schedule = torch.optim.lr_scheduler.StepLR(self.optimizer, 3, 0.5)

    def batch(self):
        generator = torch.Generator().manual_seed(1)
        x = torch.randn(12, 6, generator=generator)
        return {"x": x, "label": torch.arange(12) % 4}

    def accumulate(self, micro_batches):
        self.optimizer.zero_grad()
        total = 0.0
        for part in micro_batches:
            loss = F.cross_entropy(self.model(part["x"]), part["label"])
            loss = loss / len(micro_batches)
            loss.backward()
            total += loss.item()
        return total

    def evaluate(self, batch):
        if self.bug != "trains in evaluation":
            self.model.eval()
        with torch.no_grad():
            self.model(batch["x"])
        if self.bug != "stays in evaluation":
            self.model.train()


class StepsOnly:
    """What somebody has who never looked at a gradient."""

    def __init__(self, bug="", optimizer="SGD"):
        self.tokens = Tokens(bug)
        parameters = self.tokens.model.parameters()
        if optimizer == "SGD":
            self.tokens.optimizer = torch.optim.SGD(parameters, 0.1)
        schedule = torch.optim.lr_scheduler.StepLR
        self.tokens.schedule = schedule(self.tokens.optimizer, 3, 0.5)
        self.batch, self.step = self.tokens.batch, self.tokens.step
        self.state, self.load = self.tokens.state, self.tokens.load
