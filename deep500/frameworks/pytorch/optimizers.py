"""PyTorch's own optimizers: those of torch.optim, with fused kernels where PyTorch has them."""

from typing import Any

from ...contracts.native_optimizer import (
    LibraryOptimizer,
    NativeAdaGrad,
    NativeAdam,
    NativeAdamW,
    NativeMomentum,
    NativeRMSProp,
    NativeSGD,
)


class SGDOptimizer(NativeSGD):
    """torch.optim.SGD."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        return lambda params: library.SGD(params, rate, fused=True)


class MomentumOptimizer(NativeMomentum):
    """torch.optim.SGD with momentum."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        return lambda params: library.SGD(
            params, rate, momentum=self.momentum, fused=True
        )


class NesterovOptimizer(NativeMomentum):
    """torch.optim.SGD with Nesterov's momentum."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        return lambda params: library.SGD(
            params, rate, momentum=self.momentum, nesterov=True, fused=True
        )


class AdaGradOptimizer(NativeAdaGrad):
    """torch.optim.Adagrad."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        return lambda params: library.Adagrad(
            params, rate, eps=self.epsilon, fused=True
        )


class RMSPropOptimizer(NativeRMSProp):
    """torch.optim.RMSprop."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        return lambda params: library.RMSprop(params, rate, self.alpha, self.epsilon)


class AdamOptimizer(NativeAdam):
    """torch.optim.Adam."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        betas = (self.beta1, self.beta2)
        return lambda params: library.Adam(
            params, rate, betas, self.epsilon, fused=True
        )


class AMSGradOptimizer(NativeAdam):
    """torch.optim.Adam with amsgrad."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        betas = (self.beta1, self.beta2)
        return lambda params: library.Adam(
            params, rate, betas, self.epsilon, amsgrad=True, fused=True
        )


class AdamWOptimizer(NativeAdamW):
    """torch.optim.AdamW."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        betas = (self.beta1, self.beta2)
        return lambda params: library.AdamW(
            params, rate, betas, self.epsilon, self.weight_decay, fused=True
        )


class TorchOptimizer(LibraryOptimizer):
    """Any subclass of torch.optim.Optimizer: `maker` is the class, and its arguments leave the parameters out."""

    framework = "pytorch"

    def create(self, library: Any, rate: Any) -> Any:
        options = dict(self.options)
        return lambda params: self.maker(params, *self.args, **options)
