// Operators: shapes of results come from PyTorch's Meta kernel at once, values from its CPU kernel in a stream.
#pragma once
#include <ATen/EmptyTensor.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/native/Resize.h>
#include <torch/library.h>

#include "memory.h"

namespace simulated {

using Operator = c10::OperatorHandle;
using Stack = torch::jit::Stack;
constexpr c10::DispatchKeySet KEYS(c10::DispatchKey::PrivateUse1);

inline at::Tensor empty_strided(at::IntArrayRef size, at::IntArrayRef stride, std::optional<at::ScalarType> dtype,
                                std::optional<at::Layout>, std::optional<at::Device> device, std::optional<bool>) {
    c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_strided_generic(size, stride, &allocator, KEYS, c10::dtype_or_default(dtype));
}

inline at::Tensor empty_like_on(const at::Tensor &tensor, int device) {
    c10::Device where(TYPE, c10::DeviceIndex(device));
    return empty_strided(tensor.sizes(), tensor.strides(), tensor.scalar_type(), std::nullopt, where, std::nullopt);
}

// A scalar tensor of the host, as it is now: the host may change it before the kernel runs.
inline at::Tensor host_scalar(const at::Tensor &scalar) {
    if (!scalar.defined())
        return scalar;
    auto copy = scalar.detach().clone();
    copy.unsafeGetTensorImpl()->set_wrapped_number(scalar.unsafeGetTensorImpl()->is_wrapped_number());
    return copy;
}

// An argument or a result of an operator with every tensor in it converted.
template<typename Convert>
c10::IValue with_tensors(const c10::IValue &value, Convert &&convert) {
    if (value.isTensor())
        return convert(value.toTensor());
    if (value.isTensorList()) {
        c10::List<at::Tensor> list;
        for (const at::Tensor &tensor : value.toTensorVector())
            list.push_back(convert(tensor));
        return list;
    }
    if (value.isOptionalTensorList()) {
        c10::List<std::optional<at::Tensor>> list;
        for (const auto &tensor : value.toOptionalTensorVector())
            list.push_back(tensor ? std::optional(convert(*tensor)) : std::nullopt);
        return list;
    }
    return value;
}

template<typename Convert>
Stack with_tensors(const Stack &arguments, c10::Device device, Convert &&convert) {
    Stack converted;
    for (auto &value : arguments)
        if (value.isDevice() && value.toDevice().type() == TYPE)
            converted.push_back(device);
        else
            converted.push_back(with_tensors(value, convert));
    return converted;
}

inline Stack usable_arguments(const Stack &arguments) {
    return with_tensors(arguments, at::kCPU, [](const at::Tensor &tensor) {
        return is_simulated(tensor) ? usable(tensor) : host_scalar(tensor);
    });
}

inline Stack meta_arguments(const Stack &arguments) {
    return with_tensors(arguments, at::kMeta, [](const at::Tensor &tensor) {
        if (!is_simulated(tensor))
            return tensor;
        auto options = tensor.options().device(at::kMeta).requires_grad(false);
        return at::empty_strided(tensor.sizes(), tensor.strides(), options);
    });
}

inline std::vector<at::Tensor> tensors_of(const c10::IValue &value) {
    std::vector<at::Tensor> tensors;
    with_tensors(value, [&](const at::Tensor &tensor) { return tensors.emplace_back(tensor); });
    return tensors;
}

inline std::vector<at::Tensor> written_by(const c10::FunctionSchema &schema, const Stack &arguments) {
    std::vector<at::Tensor> written;
    for (size_t i = 0; i < arguments.size(); ++i) {
        auto *alias = schema.arguments()[i].alias_info();
        if (alias && alias->isWrite())
            for (auto &tensor : tensors_of(arguments[i]))
                written.push_back(tensor);
    }
    return written;
}

// Whether a result is an argument that the operator writes.
inline bool is_argument(const c10::FunctionSchema &schema, size_t result) {
    auto *alias = schema.returns()[result].alias_info();
    return alias && alias->isWrite();
}

inline Stack take_arguments(const Operator &op, Stack *stack) {
    auto count = op.schema().arguments().size();
    Stack arguments(stack->end() - count, stack->end());
    torch::jit::drop(*stack, count);
    return arguments;
}

inline void give(Stack *stack, const Stack &results) { stack->insert(stack->end(), results.begin(), results.end()); }

// The device of the arguments; raises, as CUDA does, if they are on several. Scalars may be on the host.
inline int common_device(const Operator &op, const Stack &arguments) {
    int device = -1;
    for (auto &value : arguments)
        for (auto &tensor : tensors_of(value)) {
            if (!tensor.defined() || (!is_simulated(tensor) && tensor.dim() == 0))
                continue;
            int index = is_simulated(tensor) ? tensor.device().index() : -1;
            TORCH_CHECK(index >= 0 && (device < 0 || device == index), op.schema().name(),
                        ": Expected all tensors to be on the same device, but found at least two devices, ",
                        tensor.device(), " and ", device < 0 ? "sim" : "sim:" + std::to_string(device));
            device = index;
        }
    return device < 0 ? current_device : device;
}

// Run an operator while the host waits: its shapes depend on values, or it has no Meta kernel.
inline Stack run_while_waiting(const Operator &op, int device, const Stack &arguments) {
    wait_for_stream(device, op.schema().name());
    auto computed = usable_arguments(arguments);
    op.callBoxed(&computed);
    auto written = written_by(op.schema(), arguments);
    Stack results;
    size_t next = 0;
    for (auto &value : computed) {
        if (is_argument(op.schema(), results.size())) {
            results.push_back(written[next++]);
            continue;
        }
        results.push_back(with_tensors(value, [&](const at::Tensor &tensor) {
            if (!tensor.defined())
                return tensor;
            auto copy = empty_like_on(tensor, device);
            usable(copy).copy_(tensor);
            return copy;
        }));
    }
    return results;
}

inline bool returns_tensors_only(const c10::FunctionSchema &schema) {
    for (auto &result : schema.returns())
        if (!result.type()->isSubtypeOf(*c10::OptionalType::create(c10::TensorType::get())) &&
            !result.type()->isSubtypeOf(*c10::ListType::ofTensors()))
            return false;
    return true;
}

// What an operator returns, and where its kernel has to put the values: undefined where it writes an argument.
struct Prepared {
    Stack results;
    std::vector<at::Tensor> targets;
};

inline Prepared prepared(const c10::FunctionSchema &schema, const Stack &meta, const std::vector<at::Tensor> &written,
                         int device) {
    Prepared made;
    size_t next = 0;
    for (size_t i = 0; i < meta.size(); ++i) {
        if (is_argument(schema, i)) {
            made.results.push_back(written[next++]);
            made.targets.emplace_back();
            continue;
        }
        TORCH_CHECK(!schema.returns()[i].alias_info(), schema.name(), " returns a view, which the simulated device lacks");
        made.results.push_back(with_tensors(meta[i], [&](const at::Tensor &tensor) {
            auto result = tensor.defined() ? empty_like_on(tensor, device) : tensor;
            made.targets.push_back(result.defined() ? usable(result) : result);
            return result;
        }));
    }
    return made;
}

inline void store(const Stack &values, const std::vector<at::Tensor> &targets) {
    auto target = targets.begin();
    for (auto &value : values)
        for (auto &tensor : tensors_of(value)) {
            if (target->defined() && tensor.numel())  // a kernel may leave out what backward does not need
                target->copy_(tensor);
            ++target;
        }
}

// Queue an operator on the current stream of its device.
inline void queue_operator(const Operator &op, Stack *stack) {
    auto &schema = op.schema();
    auto arguments = take_arguments(op, stack);
    int device = common_device(op, arguments);
    auto written = written_by(schema, arguments);
    auto meta = meta_arguments(arguments);
    auto written_meta = written_by(schema, meta);
    try {
        TORCH_CHECK_NOT_IMPLEMENTED(returns_tensors_only(schema), "its result is a number");
        if (schema.returns().empty())  // it changes its arguments, and no sizes: fused optimizers
            meta.clear();
        else
            op.callBoxed(&meta);
    } catch (const c10::NotImplementedError &) {
        return give(stack, run_while_waiting(op, device, arguments));
    }
    for (size_t i = 0; i < written.size(); ++i)  // the operator decides on the size and the strides of out=
        if (written[i].sizes() != written_meta[i].sizes()) {
            at::native::resize_(written[i], written_meta[i].sizes(), std::nullopt);
            written[i].unsafeGetTensorImpl()->set_sizes_and_strides(written_meta[i].sizes(), written_meta[i].strides());
        }
    auto made = prepared(schema, meta, written, device);
    launch(device, [op, cpu = usable_arguments(arguments), targets = std::move(made.targets)] {
        at::NoGradGuard no_grad;
        auto values = cpu;  // the call takes them away, and a graph runs it again
        op.callBoxed(&values);
        store(values, targets);
    });
    give(stack, made.results);
}

}  // namespace simulated
