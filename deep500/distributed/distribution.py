"""What a recipe says about its ranks: how many, over which transport, by which scheme."""

from dataclasses import dataclass, fields, replace

from .. import registry
from ..contracts.recipe import Recipe
from ..contracts.scheme import Scheme
from ..contracts.transport import DEADLINE, Transport
from ..errors import Deep500Error, unknown
from ..training.building import recipe_leaves
from ..training.recipe_plan import DistributionForm
from ..transports.virtual import Virtual
from .communication import launched_by, process_transport
from .shards import bounds

ENTRIES = ("ranks", "transport", "scheme", "codec")
TRANSPORTS = ("virtual", "mpi", "torch")
DEFAULT = "virtual"
VIRTUAL_TIME = "virtual ranks compute in no time: use --transport mpi or torch"


@dataclass(frozen=True)
class Distribution:
    """The ranks of a recipe's run."""

    ranks: int
    transport: str
    scheme: Scheme
    grain: int = 1  # the rows that stay on one rank

    def open(self, deadline: float = DEADLINE) -> Transport:
        """The transport, which must have as many ranks as the recipe says."""
        if self.transport == "virtual":
            return Virtual(self.ranks, deadline=deadline)
        transport = process_transport(self.transport, deadline)
        if transport.size != self.ranks:
            raise Deep500Error(
                f"the recipe has {self.ranks} ranks, and {transport.size} were started: give "
                f"--ranks {transport.size}, or start {self.ranks}"
            )
        return transport

    @property
    def unavailable(self) -> dict[str, str]:
        """What metrics need and these ranks do not have, with the reason."""
        if self.transport == "virtual":
            return {"real time": VIRTUAL_TIME}
        return {}

    def form(self, global_batch: int) -> DistributionForm:
        """For the plan of a run: with the batch of all ranks, and of each."""
        trainers = self.scheme.trainers(self.ranks)
        local = []
        for index in range(len(trainers)):
            first, stop = bounds(global_batch, index, len(trainers), self.grain)
            local.append(stop - first)
        return DistributionForm(
            self.ranks,
            self.transport,
            type(self.scheme).__name__,
            global_batch,
            local,
        )


def recipe_distribution(recipe: Recipe) -> Distribution | None:
    """The distribution of a recipe; None if it says nothing about ranks."""
    if not any(recipe.has(key) for key in ENTRIES):
        return None
    transport = recipe.entry("transport", launched_by() or DEFAULT)
    if transport not in TRANSPORTS:
        raise unknown("transport", transport, TRANSPORTS)
    ranks = recipe.entry("ranks", 1)
    if ranks < 1:
        raise Deep500Error(
            f"recipe {recipe.name}: ranks is {ranks}, and there must be 1 or more"
        )
    if recipe.has("procedure"):
        raise Deep500Error(
            f"recipe {recipe.name}: a procedure of one's own cannot be distributed: leave "
            f"{next(key for key in ENTRIES if recipe.has(key))!r} out"
        )
    check_whole_epochs(recipe)
    scheme = recipe_scheme(recipe)
    scheme.check(ranks)
    leaves = recipe_leaves(recipe)
    if leaves is None:
        return Distribution(ranks, transport, scheme)
    _check_sums_everything(recipe, scheme)
    return Distribution(ranks, transport, scheme, leaves.rows)


def _check_sums_everything(recipe: Recipe, scheme: Scheme) -> None:
    """Raise a Deep500Error for schemes by which many ranks do not do what one does."""
    name = type(scheme).__name__
    if name != "AllReduce":
        raise Deep500Error(
            f"recipe {recipe.name}: ranks that train by {name} do not do what one rank does: reproducible training "
            "takes the scheme AllReduce"
        )
    if getattr(scheme, "codec", None) is not None:
        raise Deep500Error(
            f"recipe {recipe.name}: a codec changes gradients by rank: leave it out, or train without --reproducible"
        )


def check_whole_epochs(recipe: Recipe) -> None:
    """Raise a Deep500Error for a recipe that evaluates within epochs: the program of a scheme is a whole one."""
    if recipe.has("evaluate_every"):
        raise Deep500Error(
            f"recipe {recipe.name}: ranks are evaluated after whole epochs only, since a scheme may leave messages in "
            "flight until then: leave 'evaluate_every' out"
        )


def recipe_scheme(recipe: Recipe) -> Scheme:
    """The scheme of a recipe with its codec; AllReduce if it names none."""
    if recipe.has("scheme"):
        scheme = recipe.make("scheme")
    else:
        scheme = registry.find("schemes", "AllReduce")()
    if not recipe.has("codec"):
        return scheme
    if "codec" not in [field.name for field in fields(scheme)]:
        raise Deep500Error(
            f"recipe {recipe.name}: the scheme {type(scheme).__name__} has no setting 'codec': "
            "leave the codec out, or give your scheme one, as docs/add-a-scheme.md does"
        )
    return replace(scheme, codec=recipe.make("codec"))
