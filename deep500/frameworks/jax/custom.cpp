// One XLA FFI handler for every operator in C++, and one for those in CUDA: the operator's functions are attributes of
// the call.
// Arguments and results come in the order in which the function takes its pointers.
#include <deep500/deep500.h>
#include <xla/ffi/api/ffi.h>

namespace ffi = xla::ffi;
struct CUstream_st;

namespace {

using stream_t = CUstream_st *;
using function_t = const char *(*)(deep500::tensor_t *, int, int, void **, int);
using queue_t = const char *(*)(deep500::tensor_t *, int, int, void **, void *);

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

struct Arguments {  // of a call, in the form in which operators take them
    std::vector<std::vector<uint32_t>> sizes;
    std::vector<deep500::tensor_t> tensors;
    std::vector<void *> data;

    Arguments(ffi::RemainingArgs &args, ffi::RemainingRets &rets, int64_t inputs, int64_t outputs) {
        std::vector<ffi::AnyBuffer> buffers;
        for (size_t i = 0; i < args.size(); ++i)
            buffers.push_back(*args.get<ffi::AnyBuffer>(i));
        for (size_t i = 0; i < rets.size(); ++i)
            buffers.push_back(**rets.get<ffi::AnyBuffer>(i));
        bool forward = int64_t(buffers.size()) == inputs + outputs;
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
    }
};

ffi::Error answer(const char *fault) {
    return fault ? ffi::Error::InvalidArgument(fault) : ffi::Error::Success();
}

ffi::Error call(ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t function, int64_t, int64_t inputs,
                int64_t outputs, int64_t threads) {
    Arguments given(args, rets, inputs, outputs);
    auto run = reinterpret_cast<function_t>(function);
    return answer(run(given.tensors.data(), int(inputs), int(outputs), given.data.data(), int(threads)));
}

// Queues the operator's kernels on the stream that XLA runs on; XLA's buffers are its arguments, and nothing is copied.
ffi::Error queue(stream_t stream, ffi::RemainingArgs args, ffi::RemainingRets rets, int64_t, int64_t cuda_function,
                 int64_t inputs, int64_t outputs, int64_t) {
    Arguments given(args, rets, inputs, outputs);
    auto run = reinterpret_cast<queue_t>(cuda_function);
    return answer(run(given.tensors.data(), int(inputs), int(outputs), given.data.data(), stream));
}

template<typename Binding>
auto with_attributes(Binding binding) {
    return std::move(binding).RemainingArgs().RemainingRets().template Attr<int64_t>("function").template Attr<int64_t>("cuda_function")
        .template Attr<int64_t>("inputs").template Attr<int64_t>("outputs").template Attr<int64_t>("threads");
}

}  // namespace

XLA_FFI_DEFINE_HANDLER_SYMBOL(deep500_custom_op, call, with_attributes(ffi::Ffi::Bind()));
XLA_FFI_DEFINE_HANDLER_SYMBOL(deep500_custom_op_cuda, queue,
                              with_attributes(ffi::Ffi::Bind().Ctx<ffi::PlatformStream<stream_t>>()),
                              {ffi::Traits::kCmdBufferCompatible});
