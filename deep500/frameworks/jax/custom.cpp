// One XLA FFI handler for every operator in C++: the operator's function is an attribute of the call.
// Arguments and results come in the order in which the function takes its pointers.
#include <deep500/deep500.h>
#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;

namespace {

using function_t = const char *(*)(deep500::tensor_t *, int, int, void **, int);

deep500::tensortype_t type_of(ffi::DataType type) {
    switch (type) {
    case ffi::DataType::S8: return deep500::TT_INT8;
    case ffi::DataType::S16: return deep500::TT_INT16;
    case ffi::DataType::S32: return deep500::TT_INT32;
    case ffi::DataType::S64: return deep500::TT_INT64;
    case ffi::DataType::U8: return deep500::TT_UINT8;
    case ffi::DataType::U16: return deep500::TT_UINT16;
    case ffi::DataType::U32: return deep500::TT_UINT32;
    case ffi::DataType::U64: return deep500::TT_UINT64;
    case ffi::DataType::F16: return deep500::TT_HALF;
    case ffi::DataType::F32: return deep500::TT_FLOAT;
    case ffi::DataType::F64: return deep500::TT_DOUBLE;
    case ffi::DataType::BF16: return deep500::TT_BFLOAT16;
    case ffi::DataType::PRED: return deep500::TT_BOOL;
    default: return deep500::TT_VOID;
    }
}

ffi::Error call(ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t function, int64_t inputs, int64_t outputs,
                int64_t threads) {
    std::vector<ffi::AnyBuffer> buffers;
    for (size_t i = 0; i < args.size(); ++i)
        buffers.push_back(*args.get<ffi::AnyBuffer>(i));
    for (size_t i = 0; i < rets.size(); ++i)
        buffers.push_back(**rets.get<ffi::AnyBuffer>(i));
    bool forward = int64_t(buffers.size()) == inputs + outputs;
    std::vector<std::vector<uint32_t>> sizes;
    std::vector<deep500::tensor_t> tensors;
    std::vector<void *> data;
    for (int64_t i = 0; i < inputs + outputs; ++i) {
        auto &buffer = buffers[i + (forward ? 0 : outputs)];  // gradients of the outputs come before the inputs
        auto dimensions = buffer.dimensions();
        sizes.emplace_back(dimensions.begin(), dimensions.end());
        tensors.push_back({type_of(buffer.element_type()), deep500::TORD_IRRELEVANT, int(dimensions.size()), nullptr});
    }
    for (size_t i = 0; i < tensors.size(); ++i)
        tensors[i].sizes = sizes[i].data();
    for (auto &buffer : buffers)
        data.push_back(buffer.untyped_data());
    auto run = reinterpret_cast<function_t>(function);
    const char *fault = run(tensors.data(), int(inputs), int(outputs), data.data(), int(threads));
    return fault ? ffi::Error::InvalidArgument(fault) : ffi::Error::Success();
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(deep500_custom_op, call,
                              ffi::Ffi::Bind().RemainingArgs().RemainingRets().Attr<int64_t>("function")
                                  .Attr<int64_t>("inputs").Attr<int64_t>("outputs").Attr<int64_t>("threads"));
