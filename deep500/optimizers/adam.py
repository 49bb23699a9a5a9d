"""Adam (Kingma and Ba, 2015)."""

from typing import Any

from ..contracts.optimizer import Optimizer, Rate, State
from ._formulas import bias_correction


class Adam(Optimizer):
    """Decaying means of the gradient and of its square, corrected for their bias towards the initial zeros."""

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
        beta1, beta2 = self.beta1, self.beta2
        mean = beta1 * state["mean"] + (1 - beta1) * grad
        square = beta2 * state["square"] + (1 - beta2) * xp.square(grad)
        rate = self.learning_rate / bias_correction(xp, beta1, step)
        scale = 1 / xp.sqrt(bias_correction(xp, beta2, step))
        spread = scale * xp.sqrt(square) + self.epsilon
        new = param - rate * mean / spread
        return new, {"mean": mean, "square": square}

    def pytorch(
        self,
        torch: Any,
        params: list,
        grads: list,
        states: list[State],
        step: Any,
    ) -> None:
        """Update by the kernel of torch.optim.Adam(fused=True)."""
        means = [state["mean"] for state in states]
        squares = [state["square"] for state in states]
        steps = [step] * len(params)
        torch._fused_adam_(
            params,
            grads,
            means,
            squares,
            [],
            steps,
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
        """Update by TensorFlow's kernel, with epsilon scaled to its formula.

        With powers of zero, the kernel does not correct the bias, which is in the rate instead.
        """
        for param, grad, state in zip(params, grads, states, strict=True):
            count = tf.cast(step, param.dtype)
            root = tf.sqrt(bias_correction(tf, self.beta2, count))
            exact_rate = tf.convert_to_tensor(self.learning_rate, tf.float64)
            rate = tf.cast(exact_rate, param.dtype)
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
