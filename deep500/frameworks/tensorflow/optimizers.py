"""TensorFlow's own optimizers, which are those of Keras."""

from typing import Any

from ...contracts.native_optimizer import (
    LibraryOptimizer,
    NativeAdaGrad,
    NativeAdam,
    NativeAdamW,
    NativeLAMB,
    NativeLion,
    NativeMomentum,
    NativeRMSProp,
    NativeSGD,
)


class SGDOptimizer(NativeSGD):
    """keras.optimizers.SGD."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.SGD(rate)


class MomentumOptimizer(NativeMomentum):
    """keras.optimizers.SGD with momentum."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.SGD(rate, momentum=self.momentum)


class NesterovOptimizer(NativeMomentum):
    """keras.optimizers.SGD with Nesterov's momentum."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.SGD(rate, momentum=self.momentum, nesterov=True)


class AdaGradOptimizer(NativeAdaGrad):
    """keras.optimizers.Adagrad, which adds epsilon before it takes the root."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.Adagrad(
            rate, initial_accumulator_value=0.0, epsilon=self.epsilon
        )


class RMSPropOptimizer(NativeRMSProp):
    """keras.optimizers.RMSprop, which adds epsilon before it takes the root."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.RMSprop(rate, rho=self.alpha, epsilon=self.epsilon)


class AdamOptimizer(NativeAdam):
    """keras.optimizers.Adam, which does not correct the bias of what it adds epsilon to."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.Adam(rate, self.beta1, self.beta2, self.epsilon)


class AdamWOptimizer(NativeAdamW):
    """keras.optimizers.AdamW."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.AdamW(
            rate, self.weight_decay, self.beta1, self.beta2, self.epsilon
        )


class LionOptimizer(NativeLion):
    """keras.optimizers.Lion."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        return library.Lion(
            rate, self.beta1, self.beta2, weight_decay=self.weight_decay
        )


class LAMBOptimizer(NativeLAMB):
    """keras.optimizers.Lamb."""

    framework = "tensorflow"

    def create(self, library: Any, rate: Any) -> Any:
        betas = (self.beta1, self.beta2)
        return library.Lamb(rate, *betas, self.epsilon, weight_decay=self.weight_decay)


class KerasOptimizer(LibraryOptimizer):
    """Any subclass of keras.optimizers.Optimizer."""

    framework = "tensorflow"
