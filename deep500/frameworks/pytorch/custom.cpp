// Operators in C++ as PyTorch's own: boxed kernels for the dispatcher and for autograd, one pair for all operators.
// What an operator does with inputs of certain shapes and dtypes is asked of Python once, and kept as a plan.
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/EmptyTensor.h>
#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/zeros.h>
#include <c10/core/DeviceGuard.h>
#include <c10/core/impl/VirtualGuardImpl.h>
#include <deep500/deep500.h>
#include <torch/csrc/autograd/autograd_not_implemented_fallback.h>
#include <torch/csrc/autograd/function.h>
#include <torch/csrc/autograd/functions/utils.h>
#include <torch/csrc/autograd/saved_variable.h>
#include <torch/library.h>

namespace {

using function_t = const char *(*)(deep500::tensor_t *, int, int, void **, int);
using queue_t = const char *(*)(deep500::tensor_t *, int, int, void **, void *);
using prepare_t = int (*)(void *op, const int64_t *numbers);  // of every input: type, rank, sizes

struct Plan {
    std::vector<at::ScalarType> types;  // of inputs and outputs
    std::vector<std::vector<int64_t>> shapes;
    std::vector<std::vector<uint32_t>> sizes;
    std::vector<deep500::tensor_t> tensors;
    function_t forward = nullptr, backward = nullptr;
    queue_t forward_cuda = nullptr, backward_cuda = nullptr;  // where the operator has them
};

struct Op {
    std::string name;
    int inputs, outputs;
    prepare_t prepare;
    std::string fault;
    std::mutex lock;
    std::vector<std::shared_ptr<Plan>> plans;  // the last one is the newest

    std::shared_ptr<Plan> find(const at::Tensor *given) {
        std::lock_guard<std::mutex> guard(lock);
        for (auto it = plans.rbegin(); it != plans.rend(); ++it)
            if (matches(**it, given))
                return *it;
        return nullptr;
    }
    std::shared_ptr<Plan> plan(const at::Tensor *given) {
        if (auto found = find(given))
            return found;
        auto numbers = key(given);
        TORCH_CHECK(!prepare(this, numbers.data()), fault);
        return find(given);
    }
    bool matches(const Plan &plan, const at::Tensor *given) const {
        for (int i = 0; i < inputs; ++i)
            if (given[i].scalar_type() != plan.types[i] || given[i].sizes() != at::IntArrayRef(plan.shapes[i]))
                return false;
        return true;
    }
    std::vector<int64_t> key(const at::Tensor *given) const {
        std::vector<int64_t> numbers;
        for (int i = 0; i < inputs; ++i) {
            numbers.push_back(int64_t(given[i].scalar_type()));
            numbers.push_back(given[i].dim());
            numbers.insert(numbers.end(), given[i].sizes().begin(), given[i].sizes().end());
        }
        return numbers;
    }
    void call(Plan &plan, function_t function, void **data) const {
        const char *fault = function(plan.tensors.data(), inputs, outputs, data, at::get_num_threads());
        TORCH_CHECK(!fault, name, ": ", fault);
    }
    // Queues kernels on the current stream of the tensors' device: no copy, and nobody waits.
    void queue(Plan &plan, queue_t function, const char *method, void **data, c10::Device device) const {
        TORCH_CHECK_NOT_IMPLEMENTED(function, name, " has no ", method, ", which it needs on ", device,
                                    ": write it in a .cu file, or leave the device out");
        c10::DeviceGuard current(device);
        c10::impl::VirtualGuardImpl devices(device.type());
        void *stream = devices.getStreamNativeHandle(devices.getStream(device));
        const char *fault = function(plan.tensors.data(), inputs, outputs, data, stream);
        TORCH_CHECK(!fault, name, ": ", fault);
    }
};

using Tensors = c10::SmallVector<at::Tensor, 8>;

Tensors take(torch::jit::Stack *stack, size_t count) {
    Tensors found;
    for (auto &value : torch::jit::last(*stack, count))
        found.push_back(value.toTensor());
    return found;
}

void replace(torch::jit::Stack *stack, size_t count, Tensors &made) {
    torch::jit::drop(*stack, count);
    for (auto &tensor : made)
        stack->emplace_back(std::move(tensor));
}

c10::Device device_of(const Op &op, const Tensors &given) {
    if (given.empty())
        return c10::kCPU;
    for (auto &tensor : given)
        TORCH_CHECK(tensor.device() == given[0].device(), op.name, " takes tensors of one device, not of ",
                    given[0].device(), " and ", tensor.device());
    return given[0].device();
}

at::Tensor uninitialised(const Plan &plan, int i, c10::Device device) {
    if (device.is_cpu())
        return at::detail::empty_cpu(plan.shapes[i], plan.types[i]);
    return at::empty(plan.shapes[i], at::TensorOptions(device).dtype(plan.types[i]));
}

struct Forward : c10::OperatorKernel {
    Op *op;
    explicit Forward(Op *op) : op(op) {}

    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack) {
        auto xs = take(stack, op->inputs);
        auto device = device_of(*op, xs);
        auto plan = op->plan(xs.data());
        Tensors ys;
        c10::SmallVector<void *, 8> data;
        for (auto &x : xs) {
            x = x.contiguous();
            data.push_back(x.data_ptr());
        }
        for (int i = op->inputs; i < op->inputs + op->outputs; ++i) {
            ys.push_back(uninitialised(*plan, i, device));
            data.push_back(ys.back().data_ptr());
        }
        if (device.is_cpu())
            op->call(*plan, plan->forward, data.data());
        else
            op->queue(*plan, plan->forward_cuda, "forward_cuda", data.data(), device);
        replace(stack, xs.size(), ys);
    }
};

struct Backward : c10::OperatorKernel {  // gradients of outputs, inputs, outputs -> gradients of inputs
    Op *op;
    explicit Backward(Op *op) : op(op) {}

    void operator()(const c10::OperatorHandle &, c10::DispatchKeySet, torch::jit::Stack *stack) {
        auto given = take(stack, 2 * op->outputs + op->inputs);
        auto device = device_of(*op, given);
        auto plan = op->plan(given.data() + op->outputs);
        Tensors made;
        c10::SmallVector<void *, 16> data;
        for (auto &tensor : given) {
            tensor = tensor.contiguous();
            data.push_back(tensor.data_ptr());
        }
        for (int i = 0; i < op->inputs; ++i) {
            made.push_back(uninitialised(*plan, i, device));
            data.push_back(made.back().data_ptr());
        }
        if (device.is_cpu())
            op->call(*plan, plan->backward, data.data());
        else
            op->queue(*plan, plan->backward_cuda, "backward_cuda", data.data(), device);
        replace(stack, given.size(), made);
    }
};

struct Step : torch::autograd::Node {  // in autograd's graph
    Op *op;
    c10::OperatorHandle backward;
    std::vector<torch::autograd::SavedVariable> xs, ys;
    std::vector<std::pair<c10::SymDimVector, at::TensorOptions>> kinds;  // of the outputs
    std::mutex lock;

    Step(Op *op, c10::OperatorHandle backward) : op(op), backward(std::move(backward)) {}
    std::string name() const override { return op->name + "Backward"; }
    void release_variables() override {
        std::lock_guard<std::mutex> guard(lock);
        for (auto *saved : {&xs, &ys})
            for (auto &variable : *saved)
                variable.reset_data();
    }
    torch::autograd::variable_list apply(torch::autograd::variable_list &&grads) override {
        torch::jit::Stack stack;
        {
            std::lock_guard<std::mutex> guard(lock);
            for (size_t i = 0; i < kinds.size(); ++i)
                stack.emplace_back(grads[i].defined() ? grads[i]
                                                      : at::zeros_symint(kinds[i].first, kinds[i].second));
            for (auto &x : xs)
                stack.emplace_back(x.unpack());
            for (auto &y : ys)
                stack.emplace_back(y.unpack(c10::intrusive_ptr<Node>::reclaim_copy(this)));
        }
        backward.callBoxed(&stack);
        torch::autograd::variable_list found;
        for (size_t i = 0; i < stack.size(); ++i)
            found.push_back(task_should_compute_output(i) ? stack[i].toTensor() : at::Tensor());
        return found;
    }
};

struct Autograd : c10::OperatorKernel {
    Op *op;
    std::optional<c10::OperatorHandle> backward;
    explicit Autograd(Op *op) : op(op) {}

    void operator()(const c10::OperatorHandle &self, c10::DispatchKeySet keys, torch::jit::Stack *stack) {
        auto xs = take(stack, op->inputs);
        c10::intrusive_ptr<Step> step;
        if (torch::autograd::compute_requires_grad(at::ArrayRef<at::Tensor>(xs))) {
            if (!backward)
                backward = c10::Dispatcher::singleton().findSchemaOrThrow(
                    ("deep500::" + op->name + "_backward").c_str(), "");
            step = c10::make_intrusive<Step>(op, *backward);
            for (auto &x : xs) {
                step->xs.emplace_back(x, false);
                step->add_next_edge(x.is_floating_point() ? torch::autograd::impl::gradient_edge(x)
                                                          : torch::autograd::Edge());
            }
        }
        {
            at::AutoDispatchBelowADInplaceOrView guard;
            self.redispatchBoxed(keys & c10::after_autograd_keyset, stack);
        }
        if (!step)
            return;
        auto ys = take(stack, op->outputs);
        for (auto &y : ys) {
            step->kinds.emplace_back(c10::SymDimVector(y.sym_sizes()), y.options());
            torch::autograd::set_history(y, step);
            step->ys.emplace_back(y, true);
        }
        replace(stack, ys.size(), ys);
    }
};

torch::Library &library() {
    static torch::Library found(torch::Library::FRAGMENT, "deep500", std::nullopt, __FILE__, __LINE__);
    return found;
}

template<typename Kernel>
torch::CppFunction boxed(Op *op) {
    return torch::CppFunction::makeFromBoxedFunctor(std::make_unique<Kernel>(op));
}

// Other devices have no functions of these operators.
constexpr auto BACKENDS = {c10::DispatchKey::CPU, c10::DispatchKey::CUDA, c10::DispatchKey::PrivateUse1};

thread_local std::string registration_fault;

}  // namespace

D500_VISIBLE void *deep500_define(const char *name, const char *schema, const char *backward_schema, int inputs,
                                  int outputs, prepare_t prepare) {
    try {
        auto *op = new Op{name, inputs, outputs, prepare, {}, {}, {}};  // for as long as the process runs
        const std::vector<at::Tag> tags{at::Tag::pt2_compliant_tag};
        library().def(torch::schema(schema), tags);
        for (auto backend : BACKENDS)
            library().impl(name, torch::dispatch(backend, boxed<Forward>(op)));
        if (*backward_schema) {
            auto back = std::string(name) + "_backward";
            library().impl(name, torch::dispatch(c10::DispatchKey::Autograd, boxed<Autograd>(op)));
            library().def(torch::schema(backward_schema), tags);
            for (auto backend : BACKENDS)
                library().impl(back.c_str(), torch::dispatch(backend, boxed<Backward>(op)));
            library().impl(back.c_str(), torch::dispatch(c10::DispatchKey::Autograd,
                                                         torch::autograd::autogradNotImplementedFallback()));
        }
        return op;
    } catch (const std::exception &error) {
        registration_fault = error.what();
        return nullptr;
    }
}

D500_VISIBLE const char *deep500_fault() { return registration_fault.c_str(); }

D500_VISIBLE void deep500_refuse(void *op, const char *fault) { static_cast<Op *>(op)->fault = fault; }

// `numbers`: of every input and output its PyTorch type, ours, its rank and its sizes.
D500_VISIBLE void deep500_plan(void *handle, const int64_t *numbers, function_t forward, function_t backward,
                               queue_t forward_cuda, queue_t backward_cuda) {
    auto *op = static_cast<Op *>(handle);
    auto plan = std::make_shared<Plan>();
    plan->forward = forward, plan->backward = backward;
    plan->forward_cuda = forward_cuda, plan->backward_cuda = backward_cuda;
    for (int i = 0; i < op->inputs + op->outputs; ++i) {
        plan->types.push_back(at::ScalarType(*numbers++));
        auto type = deep500::tensortype_t(*numbers++);
        int64_t rank = *numbers++;
        plan->shapes.emplace_back(numbers, numbers + rank);
        plan->sizes.emplace_back(numbers, numbers + rank);
        plan->tensors.push_back({type, deep500::TORD_IRRELEVANT, int(rank), nullptr});
        numbers += rank;
    }
    for (size_t i = 0; i < plan->tensors.size(); ++i)
        plan->tensors[i].sizes = plan->sizes[i].data();
    std::lock_guard<std::mutex> guard(op->lock);
    constexpr size_t most = 64;
    if (op->plans.size() == most)
        op->plans.erase(op->plans.begin());
    op->plans.push_back(plan);
}
