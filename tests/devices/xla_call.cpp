// Calls a handler of XLA's foreign functions as XLA does on CUDA: with float buffers of one length and a stream.
#include <xla/ffi/api/c_api.h>

#include <string>
#include <vector>

struct XLA_FFI_Error {
    std::string message;
};

static void *current_stream;
static std::string fault;

static XLA_FFI_Error *create(XLA_FFI_Error_Create_Args *given) { return new XLA_FFI_Error{given->message}; }
static void get_message(XLA_FFI_Error_GetMessage_Args *given) { given->message = given->error->message.c_str(); }
static void destroy(XLA_FFI_Error_Destroy_Args *given) { delete given->error; }
static XLA_FFI_Error *get_stream(XLA_FFI_Stream_Get_Args *given) {
    given->stream = current_stream;
    return nullptr;
}

// `data` holds the addresses of `inputs` arguments, then of `outputs` results; `numbers` are the attributes by name.
extern "C" const char *xla_call(XLA_FFI_Handler *handler, void *stream, int inputs, int outputs, void **data,
                                int64_t length, int64_t *numbers) {
    XLA_FFI_Api api{};
    api.struct_size = XLA_FFI_Api_STRUCT_SIZE;
    api.api_version = {XLA_FFI_Api_Version_STRUCT_SIZE, nullptr, XLA_FFI_API_MAJOR, XLA_FFI_API_MINOR};
    api.XLA_FFI_Error_Create = create;
    api.XLA_FFI_Error_GetMessage = get_message;
    api.XLA_FFI_Error_Destroy = destroy;
    api.XLA_FFI_Stream_Get = get_stream;
    current_stream = stream;

    std::vector<XLA_FFI_Buffer> buffers;
    for (int i = 0; i < inputs + outputs; ++i)
        buffers.push_back({XLA_FFI_Buffer_STRUCT_SIZE, nullptr, XLA_FFI_DataType_F32, data[i], 1, &length});
    std::vector<void *> places;
    for (auto &buffer : buffers)
        places.push_back(&buffer);
    std::vector<XLA_FFI_ArgType> argument_types(inputs, XLA_FFI_ArgType_BUFFER);
    std::vector<XLA_FFI_RetType> result_types(outputs, XLA_FFI_RetType_BUFFER);

    const std::string names[] = {"cuda_function", "function", "inputs", "outputs", "threads"};
    XLA_FFI_ByteSpan spans[5], *span_places[5];
    XLA_FFI_Scalar scalars[5];
    void *scalar_places[5];
    XLA_FFI_AttrType attribute_types[5];
    for (int i = 0; i < 5; ++i) {
        spans[i] = {names[i].data(), names[i].size()}, span_places[i] = &spans[i];
        scalars[i] = {XLA_FFI_DataType_S64, &numbers[i]}, scalar_places[i] = &scalars[i];
        attribute_types[i] = XLA_FFI_AttrType_SCALAR;
    }

    XLA_FFI_CallFrame frame{};
    frame.struct_size = XLA_FFI_CallFrame_STRUCT_SIZE;
    frame.api = &api;
    frame.stage = XLA_FFI_ExecutionStage_EXECUTE;
    frame.args = {XLA_FFI_Args_STRUCT_SIZE, nullptr, inputs, argument_types.data(), places.data()};
    frame.rets = {XLA_FFI_Rets_STRUCT_SIZE, nullptr, outputs, result_types.data(), places.data() + inputs};
    frame.attrs = {XLA_FFI_Attrs_STRUCT_SIZE, nullptr, 5, attribute_types, span_places, scalar_places};
    XLA_FFI_Error *error = handler(&frame);
    if (!error)
        return nullptr;
    fault = error->message;
    delete error;
    return fault.c_str();
}
