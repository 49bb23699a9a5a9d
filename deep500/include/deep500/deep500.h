// Operators in C++ for every framework: derive from deep500::CustomOperator, end the file with D500_REGISTER_OP.
//
//     template<typename T>
//     struct relu : deep500::CustomOperator {
//         int64_t n;
//         relu(int64_t length) : n(length) {}                        // elements of the first input
//         void forward(const T *x, T *y) { ... }                     // inputs are const, outputs are not
//         void backward(const T *dy, const T *x, const T *y, T *dx) { ... }
//     };
//     D500_REGISTER_OP(relu<DTYPE>);
//
// An operator is made once for every set of shapes: from the length of its first input, from nothing, from
// (const tensor_t *inputs, const tensor_t *outputs), or by the file's own create_new_op. Outputs are fresh memory.
#pragma once

#include <algorithm>
#include <atomic>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <limits>
#include <memory>
#include <mutex>
#include <numeric>
#include <stdexcept>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#ifdef _OPENMP
#include <omp.h>
#endif

#ifdef __CUDACC__
#include <cuda_fp16.h>
#define D500_BOTH __host__ __device__  // for the host and for the device
#else
#define D500_BOTH
#endif

#define D500_EXPORTED extern "C"

namespace deep500 {

enum tensortype_t {
    TT_VOID = 0, TT_INT8, TT_INT16, TT_INT32, TT_INT64, TT_UINT8, TT_UINT16, TT_UINT32, TT_UINT64,
    TT_HALF, TT_FLOAT, TT_DOUBLE, TT_BITSET, TT_BFLOAT16, TT_BOOL, TT_LEN
};

enum tensororder_t { TORD_IRRELEVANT = 0, TORD_NCHW, TORD_NHWC, TORD_LEN };

struct tensor_t {  // a tensor's shape and type, without its values
    tensortype_t type;
    tensororder_t order;
    int dims;
    uint32_t *sizes;

    int64_t size() const {
        return std::accumulate(sizes, sizes + dims, int64_t(1), [](int64_t n, uint32_t m) { return n * m; });
    }
};

class CustomOperator {
public:
    virtual ~CustomOperator() = default;
    virtual bool supports_cuda() { return false; }
    virtual int64_t report(void *) { return 0; }
};

// Two bytes in memory, float in arithmetic. Write T(0), not 0, beside a T in `condition ? a : b`.
template<typename Bits>
struct short_float {
    uint16_t bits;

    short_float() = default;
    template<typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
    D500_BOTH short_float(N value) : bits(Bits::pack(static_cast<float>(value))) {}
    D500_BOTH operator float() const { return Bits::unpack(bits); }

    D500_BOTH short_float &operator+=(float other) { return *this = *this + other; }
    D500_BOTH short_float &operator-=(float other) { return *this = *this - other; }
    D500_BOTH short_float &operator*=(float other) { return *this = *this * other; }
    D500_BOTH short_float &operator/=(float other) { return *this = *this / other; }
};

struct bfloat16_bits {
    D500_BOTH static uint16_t pack(float value) {
        uint32_t bits;
        memcpy(&bits, &value, sizeof bits);
        if (value != value)
            return uint16_t(bits >> 16 | 64);  // still not a number
        return uint16_t((bits + 0x7fff + (bits >> 16 & 1)) >> 16);  // to the nearest, ties to even
    }
    D500_BOTH static float unpack(uint16_t bits) {
        uint32_t wide = uint32_t(bits) << 16;
        float value;
        memcpy(&value, &wide, sizeof value);
        return value;
    }
};

struct float16_bits {
    D500_BOTH static uint16_t pack(float value) {
#ifdef __CUDA_ARCH__
        return __half_as_ushort(__float2half_rn(value));
#else
        _Float16 narrow = static_cast<_Float16>(value);
        uint16_t bits;
        std::memcpy(&bits, &narrow, sizeof bits);
        return bits;
#endif
    }
    D500_BOTH static float unpack(uint16_t bits) {
#ifdef __CUDA_ARCH__
        return __half2float(__ushort_as_half(bits));
#else
        _Float16 narrow;
        std::memcpy(&narrow, &bits, sizeof bits);
        return static_cast<float>(narrow);
#endif
    }
};

using bfloat16 = short_float<bfloat16_bits>;
using float16 = short_float<float16_bits>;

// A double whose every result is off by up to a unit of rounding of a shorter format: `d5 check` and `d5 bench` compile
// operators with it, to see what rounding inside them does. The error of a number depends on its bits and the seed alone.
struct perturbed {
    double value;

    static inline std::atomic<uint64_t> seed{0};
    static inline std::atomic<int> fraction{52};  // bits of the shorter format

    perturbed() = default;
    template<typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>
    perturbed(N exact) : value(std::is_integral_v<N> ? double(exact) : spoilt(double(exact))) {}
    operator double() const { return value; }

    static double spoilt(double exact) {
        uint64_t bits;
        std::memcpy(&bits, &exact, sizeof bits);
        int few = fraction / 4;
        uint64_t rest = (uint64_t(1) << (53 - few)) - 1;
        if ((bits & rest) == 0 || !std::isfinite(exact))
            return exact;  // numbers of few bits are exact in every format
        uint64_t mixed = bits ^ (seed * 0x9e3779b97f4a7c15u);
        mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9u;
        mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111ebu;
        double uniform = double(int64_t(mixed ^ (mixed >> 31))) * 0x1p-63;
        return exact * (1 + std::ldexp(uniform, -fraction));
    }
};

#define D500_PERTURBED(SIGN)                                                                                          \
    inline perturbed operator SIGN(perturbed a, perturbed b) { return perturbed(a.value SIGN b.value); }              \
    template<typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                        \
    perturbed operator SIGN(perturbed a, N b) { return a SIGN perturbed(b); }                                         \
    template<typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                        \
    perturbed operator SIGN(N a, perturbed b) { return perturbed(a) SIGN b; }                                         \
    inline perturbed &operator SIGN##=(perturbed &a, perturbed b) { return a = a SIGN b; }                            \
    template<typename N, typename = std::enable_if_t<std::is_arithmetic_v<N>>>                                        \
    perturbed &operator SIGN##=(perturbed &a, N b) { return a = a SIGN perturbed(b); }
D500_PERTURBED(+)
D500_PERTURBED(-)
D500_PERTURBED(*)
D500_PERTURBED(/)
#undef D500_PERTURBED

inline perturbed operator-(perturbed a) {
    a.value = -a.value;
    return a;
}

// ---- What D500_REGISTER_OP is made of.

template<typename T>
constexpr const char *type_name() {
    if constexpr (std::is_same_v<T, void>) return "any";
    else if constexpr (std::is_same_v<T, float>) return "float32";
    else if constexpr (std::is_same_v<T, double> || std::is_same_v<T, perturbed>) return "float64";
    else if constexpr (std::is_same_v<T, float16>) return "float16";
    else if constexpr (std::is_same_v<T, bfloat16>) return "bfloat16";
    else if constexpr (std::is_same_v<T, bool>) return "bool";
    else {
        static_assert(std::is_integral_v<T> && sizeof(T) <= 8, "a tensor of these elements is unknown to Deep500");
        constexpr const char *names[2][4] = {{"uint8", "uint16", "uint32", "uint64"},
                                             {"int8", "int16", "int32", "int64"}};
        return names[std::is_signed_v<T>][sizeof(T) == 1 ? 0 : sizeof(T) == 2 ? 1 : sizeof(T) == 4 ? 2 : 3];
    }
}

template<typename Method> struct method;  // the parameters of a member function, all of them pointers

template<typename Op, typename... Pointers>
struct method<void (Op::*)(Pointers...)> {
    static_assert((std::is_pointer_v<Pointers> && ...), "forward and backward take pointers to the tensors' elements");

    static std::string text() {  // "const float32,float32"
        std::string found;
        ((found += (found.empty() ? "" : ","), found += one<std::remove_pointer_t<Pointers>>()), ...);
        return found;
    }
    template<typename M>
    static void call(Op &op, M member, void **data) { call(op, member, data, std::index_sequence_for<Pointers...>()); }

private:
    template<typename T>
    static std::string one() {
        return std::string(std::is_const_v<T> ? "const " : "") + type_name<std::remove_const_t<T>>();
    }
    template<typename M, size_t... I>
    static void call(Op &op, M member, void **data, std::index_sequence<I...>) {
        (op.*member)(static_cast<Pointers>(data[I])...);
    }
};

template<typename Op, typename... P> struct method<void (Op::*)(P...) const> : method<void (Op::*)(P...)> {};

template<typename Op, typename = void> struct has_backward : std::false_type {};
template<typename Op> struct has_backward<Op, std::void_t<decltype(&Op::backward)>> : std::true_type {};

using creator = void *(*)(tensor_t *, int, tensor_t *, int);

template<typename Op>
Op *create(creator own, tensor_t *tensors, int inputs, int outputs) {
    if (own)
        return static_cast<Op *>(own(tensors, inputs, tensors + inputs, outputs));
    if constexpr (std::is_constructible_v<Op, const tensor_t *, const tensor_t *>)
        return new Op(static_cast<const tensor_t *>(tensors), static_cast<const tensor_t *>(tensors + inputs));
    else if constexpr (std::is_constructible_v<Op, int64_t>)
        return new Op(inputs ? tensors[0].size() : 0);
    else if constexpr (std::is_default_constructible_v<Op>)
        return new Op();
    else
        throw std::logic_error("its constructor takes neither a length nor tensors nor nothing: write create_new_op");
}

template<typename Op>
std::shared_ptr<Op> operator_for(creator own, tensor_t *tensors, int inputs, int outputs) {
    static std::mutex lock;
    static std::vector<std::pair<std::vector<uint32_t>, std::shared_ptr<Op>>> made;
    constexpr size_t most = 64;
    thread_local std::vector<uint32_t> shapes;
    shapes.clear();
    for (int i = 0; i < inputs + outputs; ++i) {
        shapes.push_back(uint32_t(tensors[i].dims));
        shapes.insert(shapes.end(), tensors[i].sizes, tensors[i].sizes + tensors[i].dims);
    }
    std::lock_guard<std::mutex> guard(lock);
    for (auto it = made.rbegin(); it != made.rend(); ++it)
        if (it->first == shapes)
            return it->second;
    if (made.size() == most)
        made.erase(made.begin());
    std::shared_ptr<Op> op(create<Op>(own, tensors, inputs, outputs));
    if (!op)
        throw std::logic_error("create_new_op returned nothing");
    made.emplace_back(shapes, op);
    return op;
}

inline std::atomic<int> threads_asked{0};  // by d500_set_threads; 0 leaves the number to the framework

struct openmp_threads {  // as many as asked for, until the call ends
#ifdef _OPENMP
    int before = omp_get_max_threads();

    explicit openmp_threads(int wanted) {
        if (wanted > 0)
            omp_set_num_threads(wanted);
    }
    ~openmp_threads() { omp_set_num_threads(before); }
#else
    explicit openmp_threads(int) {}
#endif
};

template<typename Body>
const char *fault_of(Body body) {  // nothing, or what went wrong
    thread_local std::string fault;
    try {
        body();
        return nullptr;
    } catch (const std::exception &error) {
        fault = error.what();
    } catch (...) {
        fault = "an exception that is no std::exception";
    }
    return fault.c_str();
}

template<typename Op>
const char *run(bool backward, creator own, tensor_t *tensors, int inputs, int outputs, void **data, int threads) {
    return fault_of([&] {
        int asked = threads_asked;
        openmp_threads bounded(asked ? asked : threads);
        auto op = operator_for<Op>(own, tensors, inputs, outputs);
#ifdef __SANITIZE_THREAD__
        op = std::shared_ptr<Op>(std::shared_ptr<Op>(), op.get());  // counting would order calls, and hide races
#endif
        if (!backward)
            method<decltype(&Op::forward)>::call(*op, &Op::forward, data);
        else if constexpr (has_backward<Op>::value)
            method<decltype(&Op::backward)>::call(*op, &Op::backward, data);
    });
}

#ifdef __CUDACC__
// Operators of .cu files may have forward_cuda and backward_cuda: they take the pointers of forward and backward, into the
// device's memory, then the framework's stream. They queue kernels on it, and neither wait nor allocate.

template<typename Op, typename = void> struct has_forward_cuda : std::false_type {};
template<typename Op> struct has_forward_cuda<Op, std::void_t<decltype(&Op::forward_cuda)>> : std::true_type {};
template<typename Op, typename = void> struct has_backward_cuda : std::false_type {};
template<typename Op> struct has_backward_cuda<Op, std::void_t<decltype(&Op::backward_cuda)>> : std::true_type {};

template<typename Member> struct parameters;
template<typename Op, typename... P> struct parameters<void (Op::*)(P...)> {
    using type = std::tuple<P...>;
    using then_stream = std::tuple<P..., cudaStream_t>;
};
template<typename Op, typename... P> struct parameters<void (Op::*)(P...) const> : parameters<void (Op::*)(P...)> {};

template<typename Host, typename Cuda>
constexpr bool takes_stream = std::is_same_v<typename parameters<Cuda>::type, typename parameters<Host>::then_stream>;

template<typename Op>
const char *run_cuda(bool backward, creator own, tensor_t *tensors, int inputs, int outputs, void **data, void *stream) {
    return fault_of([&] {
        auto op = operator_for<Op>(own, tensors, inputs, outputs);
        std::vector<void *> arguments(data, data + (backward ? 2 : 1) * (inputs + outputs));
        arguments.push_back(stream);
        if constexpr (has_forward_cuda<Op>::value) {
            using member = decltype(&Op::forward_cuda);
            static_assert(takes_stream<decltype(&Op::forward), member>,
                          "forward_cuda takes the pointers of forward, then a cudaStream_t");
            if (!backward)
                method<member>::call(*op, &Op::forward_cuda, arguments.data());
        }
        if constexpr (has_backward_cuda<Op>::value) {
            using member = decltype(&Op::backward_cuda);
            static_assert(takes_stream<decltype(&Op::backward), member>,
                          "backward_cuda takes the pointers of backward, then a cudaStream_t");
            if (backward)
                method<member>::call(*op, &Op::backward_cuda, arguments.data());
        }
        cudaError_t status = cudaGetLastError();  // of the launches; errors of kernels are the framework's to find
        if (status != cudaSuccess)
            throw std::runtime_error(cudaGetErrorString(status));
    });
}
#endif

template<typename Op>
std::string signature() {
    std::string found = method<decltype(&Op::forward)>::text() + ";";
    if constexpr (has_backward<Op>::value)
        found += method<decltype(&Op::backward)>::text();
    return found;
}

}  // namespace deep500

template<> struct std::numeric_limits<deep500::perturbed> : std::numeric_limits<double> {};

#ifdef _OPENMP
#pragma omp declare reduction(+ : deep500::perturbed : omp_out += omp_in) initializer(omp_priv = 0)
#pragma omp declare reduction(- : deep500::perturbed : omp_out += omp_in) initializer(omp_priv = 0)
#pragma omp declare reduction(* : deep500::perturbed : omp_out *= omp_in) initializer(omp_priv = 1)
#pragma omp declare reduction(max : deep500::perturbed : omp_out = std::max(omp_out, omp_in)) initializer(omp_priv = omp_orig)
#pragma omp declare reduction(min : deep500::perturbed : omp_out = std::min(omp_out, omp_in)) initializer(omp_priv = omp_orig)
#endif

#ifdef D500_WRAPS_OPENMP
// A parallel region of one thread is a call: libgomp would make a team for it and free it, which takes a microsecond.
extern "C" void __real_GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags);
extern "C" __attribute__((visibility("hidden")))
void __wrap_GOMP_parallel(void (*region)(void *), void *data, unsigned threads, unsigned flags) {
    if ((threads ? threads : unsigned(omp_get_max_threads())) == 1 && omp_get_level() == 0)
        region(data);
    else
        __real_GOMP_parallel(region, data, threads, flags);
}
#endif

// A file may define this one itself, as files of 2019 do.
extern "C" __attribute__((weak, visibility("hidden")))
void *create_new_op(deep500::tensor_t *, int, deep500::tensor_t *, int);

#define D500_VISIBLE extern "C" __attribute__((visibility("default")))

#ifdef __CUDACC__
#define D500_REGISTER_CUDA(...)                                                                                       \
    D500_VISIBLE int d500_has_cuda(int d500_backward) {                                                               \
        return d500_backward ? deep500::has_backward_cuda<__VA_ARGS__>::value                                         \
                             : deep500::has_forward_cuda<__VA_ARGS__>::value;                                         \
    }                                                                                                                 \
    D500_VISIBLE const char *d500_forward_cuda(deep500::tensor_t *d500_tensors, int d500_inputs, int d500_outputs,    \
                                               void **d500_data, void *d500_stream) {                                 \
        return deep500::run_cuda<__VA_ARGS__>(false, create_new_op, d500_tensors, d500_inputs, d500_outputs,          \
                                              d500_data, d500_stream);                                                \
    }                                                                                                                 \
    D500_VISIBLE const char *d500_backward_cuda(deep500::tensor_t *d500_tensors, int d500_inputs, int d500_outputs,   \
                                                void **d500_data, void *d500_stream) {                                \
        return deep500::run_cuda<__VA_ARGS__>(true, create_new_op, d500_tensors, d500_inputs, d500_outputs,           \
                                              d500_data, d500_stream);                                                \
    }                                                                                                                 \
    static_assert(true, "ends with a semicolon")
#else
#define D500_REGISTER_CUDA(...) static_assert(true, "only nvcc compiles functions of the device")
#endif

// `data` holds the pointers: inputs, outputs; or gradients of outputs, inputs, outputs, gradients of inputs.
// Both return nothing, or what went wrong. An operator may have any name that does not begin with d500_.
#define D500_REGISTER_OP(...)                                                                                         \
    D500_VISIBLE const char *d500_signature() {                                                                       \
        static const std::string text = deep500::signature<__VA_ARGS__>();                                            \
        return text.c_str();                                                                                          \
    }                                                                                                                 \
    D500_VISIBLE void d500_set_threads(int count) { deep500::threads_asked = count; }                                 \
    D500_VISIBLE void d500_perturb(uint64_t seed, int fraction) {                                                     \
        deep500::perturbed::seed = seed;                                                                              \
        deep500::perturbed::fraction = fraction;                                                                      \
    }                                                                                                                 \
    D500_VISIBLE const char *d500_forward(deep500::tensor_t *d500_tensors, int d500_inputs, int d500_outputs,         \
                                          void **d500_data, int d500_threads) {                                       \
        return deep500::run<__VA_ARGS__>(false, create_new_op, d500_tensors, d500_inputs, d500_outputs, d500_data,    \
                                         d500_threads);                                                               \
    }                                                                                                                 \
    D500_VISIBLE const char *d500_backward(deep500::tensor_t *d500_tensors, int d500_inputs, int d500_outputs,        \
                                           void **d500_data, int d500_threads) {                                      \
        return deep500::run<__VA_ARGS__>(true, create_new_op, d500_tensors, d500_inputs, d500_outputs, d500_data,     \
                                         d500_threads);                                                               \
    }                                                                                                                 \
    D500_REGISTER_CUDA(__VA_ARGS__)
