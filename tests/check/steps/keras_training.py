"""A training with Keras on TensorFlow: a GradientTape per micro-batch."""

import numpy as np
import tensorflow as tf  # type: ignore[import-untyped]


class Training:
    def __init__(self, bug=""):
        tf.keras.utils.set_random_seed(0)
        self.bug = bug
        layers = [
            tf.keras.layers.Dense(8, activation="tanh"),
            tf.keras.layers.Dense(4),
        ]
        self.model = tf.keras.Sequential([tf.keras.Input((6,)), *layers])
        self.optimizer = tf.keras.optimizers.SGD(0.1, momentum=0.9)
        self.optimizer.build(self.model.trainable_variables)

    def batch(self):
        random = np.random.default_rng(1)
        x = tf.constant(random.normal(size=(8, 6)).astype(np.float32))
        weight = np.array([5, 1, 2, 4, 1, 3, 5, 2], np.float32)
        return x, tf.constant(random.integers(0, 4, 8)), tf.constant(weight)

    def both(self, micro_batches):
        total = sum(float(tf.reduce_sum(weight)) for _, _, weight in micro_batches)
        gradient = None
        value = 0.0
        for x, label, weight in micro_batches:
            with tf.GradientTape() as tape:
                losses = tf.keras.losses.sparse_categorical_crossentropy(
                    label, self.model(x), from_logits=True
                )
                loss = tf.reduce_sum(losses * weight) / total
                if self.bug == "mean of means":
                    share = tf.reduce_sum(weight) * len(micro_batches)
                    loss = tf.reduce_sum(losses * weight) / share
            part = tape.gradient(loss, self.model.trainable_variables)
            gradient = (
                part
                if gradient is None
                else [a + b for a, b in zip(gradient, part, strict=True)]
            )
            value += float(loss)
        return value, gradient

    def gradients(self, micro_batches):
        return self.both(micro_batches)[1]

    def step(self, micro_batches):
        value, gradient = self.both(micro_batches)
        self.optimizer.apply_gradients(
            zip(gradient, self.model.trainable_variables, strict=True)
        )
        return value

    def state(self):
        state = {"weights": self.model.get_weights()}
        if self.bug != "no optimizer":
            state["optimizer"] = [v.numpy() for v in self.optimizer.variables]
        return state

    def load(self, state):
        self.model.set_weights(state["weights"])
        for variable, value in zip(
            self.optimizer.variables, state.get("optimizer", []), strict=False
        ):
            variable.assign(value)

    def evaluate(self, batch):
        self.model(batch[0], training=False)
