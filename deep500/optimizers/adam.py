"""Adam (Kingma and Ba, 2015)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import bias_correction


class Adam(Optimizer):
    """Decaying means of the gradient and of its square, freed from their bias towards the zeros they start from."""

    learning_rate: Rate = 1e-3
    beta1: float = 0.9
    beta2: float = 0.999
    epsilon: float = 1e-8

    def init(self, xp: Any, param: Any) -> State:
        return {"mean": xp.zeros_like(param), "square": xp.zeros_like(param)}

    def update(
        self, xp: Any, param: Any, grad: Any, state: State, step: Any
    ) -> tuple[Any, State]:
        step = xp.astype(step, param.dtype)
        mean = self.beta1 * state["mean"] + (1 - self.beta1) * grad
        square = self.beta2 * state["square"] + (1 - self.beta2) * xp.square(grad)
        rate = self.learning_rate / bias_correction(xp, self.beta1, step)
        scale = 1 / xp.sqrt(bias_correction(xp, self.beta2, step))
        spread = scale * xp.sqrt(square) + self.epsilon
        return param - rate * mean / spread, {"mean": mean, "square": square}

    def pytorch(
        self, torch: Any, params: list, grads: list, states: list[State], step: Any
    ) -> None:
        """The kernel behind torch.optim.Adam(fused=True)."""
        torch._fused_adam_(
            params,
            grads,
            [state["mean"] for state in states],
            [state["square"] for state in states],
            [],
            [step] * len(params),
            lr=float(self.learning_rate),
            beta1=self.beta1,
            beta2=self.beta2,
            weight_decay=0.0,
            eps=self.epsilon,
            amsgrad=False,
            maximize=False,
        )

    def tensorflow(
        self, tf: Any, params: list, grads: list, states: list[State], step: Any
    ) -> None:
        """TensorFlow's own kernel, whose epsilon is scaled; powers of zero leave the scaling of the rate to us."""
        for param, grad, state in zip(params, grads, states, strict=True):
            count = tf.cast(step, param.dtype)
            root = tf.sqrt(bias_correction(tf, self.beta2, count))
            rate = tf.cast(
                tf.convert_to_tensor(self.learning_rate, tf.float64), param.dtype
            )
            tf.raw_ops.ResourceApplyAdam(
                var=param.handle,
                m=state["mean"].handle,
                v=state["square"].handle,
                beta1_power=tf.zeros((), param.dtype),
                beta2_power=tf.zeros((), param.dtype),
                lr=rate * root / bias_correction(tf, self.beta1, count),
                beta1=tf.constant(self.beta1, param.dtype),
                beta2=tf.constant(self.beta2, param.dtype),
                epsilon=self.epsilon * root,
                grad=grad,
            )
