// A simulated accelerator for PyTorch, the device "sim", for tests on machines without a GPU.
//
// Memory is forbidden to the host, calls return before their results are there, and counters tell what waited, what was
// copied and how many kernels were launched. Values are those of PyTorch's CPU kernels, in every bit.
#include <ATen/ops/_local_scalar_dense.h>
#include <ATen/ops/_reshape_alias_cpu_dispatch.h>
#include <ATen/ops/as_strided_cpu_dispatch.h>
#include <ATen/ops/resize_cpu_dispatch.h>
#include <ATen/ops/set_cpu_dispatch.h>
#include <ATen/ops/unfold_cpu_dispatch.h>
#include <ATen/ops/view_as_complex_native.h>
#include <ATen/ops/view_as_real_native.h>
#include <ATen/ops/view_cpu_dispatch.h>

#include "device.h"
#include "graphs.h"
#include "kernels.h"

#define VISIBLE extern "C" __attribute__((visibility("default")))

namespace simulated {

REGISTER_ALLOCATOR(TYPE, &allocator);
C10_REGISTER_GUARD_IMPL(PrivateUse1, Guard);

at::Tensor empty(at::IntArrayRef size, std::optional<at::ScalarType> dtype, std::optional<at::Layout>,
                 std::optional<at::Device> device, std::optional<bool>, std::optional<at::MemoryFormat> format) {
    c10::OptionalDeviceGuard guard(device);
    return at::detail::empty_generic(size, &allocator, KEYS, c10::dtype_or_default(dtype), format);
}

// With the strides of the CPU's result; those of the Meta kernel differ for windows that overlap.
at::Tensor abs(const at::Tensor &x) {
    auto y = at::empty_like(x, x.options().dtype(c10::toRealValueType(x.scalar_type())));
    return at::abs_out(y, x);
}

// Operators of other libraries bring their own kernels.
void fallback(const Operator &op, Stack *stack) {
    TORCH_CHECK_NOT_IMPLEMENTED(op.operator_name().getNamespace() == "aten", "Could not run '", op.schema().name(),
                                "' with arguments from the 'sim' backend");
    queue_operator(op, stack);
}

void depends_on_values(const Operator &op, Stack *stack) {
    auto arguments = take_arguments(op, stack);
    give(stack, run_while_waiting(op, common_device(op, arguments), arguments));
}

// The size of what a mask selects depends on its values.
void index(const Operator &op, Stack *stack) {
    for (auto &indices : tensors_of(stack->back()))
        if (indices.defined() && (indices.scalar_type() == at::kBool || indices.scalar_type() == at::kByte))
            return depends_on_values(op, stack);
    queue_operator(op, stack);
}

// Random numbers are drawn when an operator is called: the host may seed its generator again before the kernel runs.
void draw(const Operator &op, Stack *stack) {
    auto arguments = take_arguments(op, stack);
    int device = common_device(op, arguments);
    current_queue(device).refuse_capture("drawing random numbers");
    auto drawn = with_tensors(arguments, at::kCPU, [](const at::Tensor &tensor) {
        if (!is_simulated(tensor))
            return tensor;
        return at::empty_strided(tensor.sizes(), tensor.strides(), tensor.options().device(at::kCPU));
    });
    auto written = written_by(op.schema(), arguments);
    op.callBoxed(&drawn);
    std::vector<at::Tensor> targets;
    for (auto &tensor : written)
        targets.push_back(usable(tensor));
    launch(device, [drawn, targets] {
        at::NoGradGuard no_grad;
        store(drawn, targets);
    });
    give(stack, Stack(written.begin(), written.end()));
}

std::tuple<at::Tensor, at::Tensor> native_dropout(const at::Tensor &x, double p, std::optional<bool> train) {
    if (!train.value_or(true))
        return {x.clone(), at::ones_like(x, at::kBool)};
    auto mask = at::empty_like(x, at::kBool).bernoulli_(1 - p);
    return {x.mul(mask).mul_(p == 1 ? 0 : 1 / (1 - p)), mask};
}

const Operator &operator_named(const char *name) {
    static std::map<std::string, Operator> found;
    static std::mutex lock;
    std::lock_guard<std::mutex> guard(lock);
    return found.try_emplace(name, c10::Dispatcher::singleton().findSchemaOrThrow(name, "")).first->second;
}

void convolution(const Operator &, Stack *stack) { queue_operator(operator_named("aten::convolution"), stack); }

// Its arguments are the gradient, x, w, and seven more; the CPU's operator takes the sizes of the bias before those.
void convolution_backward(const Operator &, Stack *stack) {
    auto &gradient = *(stack->end() - 10);
    stack->insert(stack->end() - 7, std::vector<int64_t>{gradient.toTensor().size(1)});
    queue_operator(operator_named("aten::convolution_backward"), stack);
}

void copy_up(const at::Tensor &from, const at::Tensor &to, bool non_blocking) {
    int device = to.device().index();
    ++counters[COPIES_TO_DEVICE];
    counters[BYTES_TO_DEVICE] += from.nbytes();
    bool pinned = pinned_allocator.holds(from.unsafeGetTensorImpl()->data());
    // What is not pinned is staged by the host, which waits for the stream first.
    auto source = pinned && non_blocking ? from.detach() : from.detach().clone();
    launch(device, [source, target = usable(to)]() mutable {
        at::NoGradGuard no_grad;
        target.copy_(source);
    });
    if (!pinned || !non_blocking)
        wait_for_stream(device, "copy to the device");
}

void copy_down(const at::Tensor &from, const at::Tensor &to, bool non_blocking) {
    int device = from.device().index();
    ++counters[COPIES_TO_HOST];
    counters[BYTES_TO_HOST] += from.nbytes();
    if (non_blocking && to.is_contiguous())
        std::memset(to.data_ptr(), 0xff, to.nbytes());  // not a number, until the copy is done
    launch(device, [source = usable(from), target = to.detach()]() mutable {
        at::NoGradGuard no_grad;
        target.copy_(source);
    });
    if (!non_blocking)
        wait_for_stream(device, "copy to the host");
}

at::Tensor copy_from(const at::Tensor &from, const at::Tensor &to, bool non_blocking) {
    if (!is_simulated(from)) {
        copy_up(from, to, non_blocking);
    } else if (!is_simulated(to)) {
        copy_down(from, to, non_blocking);
    } else {
        launch(to.device().index(), [source = usable(from), target = usable(to)]() mutable {
            at::NoGradGuard no_grad;
            target.copy_(source);
        });
    }
    return to;
}

at::Tensor copy_and_resize(const at::Tensor &from, const at::Tensor &to) {
    at::native::resize_(to, from.sizes(), std::nullopt);
    return copy_from(from, to, false);
}

at::Scalar local_scalar(const at::Tensor &tensor) {
    ++counters[COPIES_TO_HOST];
    counters[BYTES_TO_HOST] += tensor.nbytes();
    wait_for_stream(tensor.device().index(), "item");
    return at::_local_scalar_dense(usable(tensor));
}

// Attention by its plain formula: 0 is SDPBackend.MATH.
int64_t attention_backend(const at::Tensor &, const at::Tensor &, const at::Tensor &,
                          const std::optional<at::Tensor> &, double, bool, std::optional<double>, bool) {
    return 0;
}

at::Tensor &(*set_part)(at::Tensor &, at::Storage, int64_t, at::IntArrayRef, at::IntArrayRef) = at::cpu::set_;
at::Tensor &(*set_tensor)(at::Tensor &, const at::Tensor &) = at::cpu::set_;

TORCH_LIBRARY_IMPL(aten, PrivateUse1, m) {
    m.impl("empty.memory_format", empty);
    m.impl("empty_strided", empty_strided);
    m.impl("as_strided", at::cpu::as_strided);
    m.impl("view", at::cpu::view);
    m.impl("_reshape_alias", at::cpu::_reshape_alias);
    m.impl("unfold", at::cpu::unfold);
    m.impl("resize_", at::cpu::resize_);
    m.impl("set_.source_Storage_storage_offset", set_part);
    m.impl("set_.source_Tensor", set_tensor);
    m.impl("view_as_real", at::native::view_as_real);
    m.impl("view_as_complex", at::native::view_as_complex);
    m.impl("_copy_from", copy_from);
    m.impl("_copy_from_and_resize", copy_and_resize);
    m.impl("_local_scalar_dense", local_scalar);
    m.impl("_fused_sdp_choice", attention_backend);
    m.impl("abs", abs);
    m.impl("native_dropout", native_dropout);
    for (auto *name : {"nonzero", "masked_select", "_unique2", "unique_dim", "bincount", "equal"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&depends_on_values>());
    // What is drawn depends on values.
    for (auto *name :
         {"bernoulli.out", "bernoulli_.Tensor", "binomial", "multinomial", "multinomial.out", "normal.Tensor_Tensor",
          "normal.Tensor_Tensor_out", "normal.Tensor_float", "normal.Tensor_float_out", "normal.float_Tensor",
          "normal.float_Tensor_out", "poisson", "rrelu_with_noise", "rrelu_with_noise.out", "rrelu_with_noise_",
          "_sample_dirichlet", "_standard_gamma"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&depends_on_values>());
    for (auto *name : {"bernoulli_.float", "cauchy_", "exponential_", "geometric_", "log_normal_", "normal_", "random_",
                       "random_.from", "random_.to", "randperm.generator_out", "uniform_"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&draw>());
    // Other devices get compositions for these, which round otherwise than the CPU's kernels.
    for (auto *name : {"_stack", "addr", "all.dims", "any.dims", "linalg__powsum", "mish_backward",
                       "native_channel_shuffle", "native_group_norm", "native_layer_norm", "silu_backward"})
        m.impl(name, torch::CppFunction::makeFromBoxedFunction<&queue_operator>());
    m.impl("index.Tensor", torch::CppFunction::makeFromBoxedFunction<&index>());
    m.impl("convolution_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution>());
    m.impl("convolution_backward_overrideable", torch::CppFunction::makeFromBoxedFunction<&convolution_backward>());
}

TORCH_LIBRARY_IMPL(_, PrivateUse1, m) { m.fallback(torch::CppFunction::makeFromBoxedFunction<&fallback>()); }

}  // namespace simulated

namespace at {
// under the name that the device has in PyTorch, in capitals
REGISTER_GRAPH_IMPL(SIM, simulated::Graph)
}  // namespace at

VISIBLE void simulated_start() { at::RegisterPrivateUse1HooksInterface(new simulated::Hooks); }
VISIBLE int simulated_devices() { return simulated::DEVICES; }
VISIBLE int simulated_threads() { return simulated::last_threads; }
VISIBLE int64_t simulated_latency() { return simulated::latency_ns; }
VISIBLE void simulated_set_latency(int64_t ns) { simulated::latency_ns = ns; }
VISIBLE int64_t simulated_memory() { return int64_t(simulated::memory_limit.load()); }
VISIBLE void simulated_set_memory(int64_t bytes) { simulated::memory_limit = size_t(bytes); }
VISIBLE int64_t simulated_count(int counter) { return simulated::counters[counter]; }
VISIBLE void simulated_reset() {
    simulated::waits.clear();
    for (auto &counter : simulated::counters)
        counter = 0;
}
// A line "name=count" for every operator that made the host wait.
VISIBLE const char *simulated_waits() {
    thread_local std::string text;
    text = simulated::waits.text();
    return text.c_str();
}
