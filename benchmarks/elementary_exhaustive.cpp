// The largest error of a function of deep500/elementary over all 2^32 arguments (for pow: over random pairs),
// against long double. Counts the results that are not correctly rounded, as far as long double can tell.
// g++ -O3 -march=native -w -Ideep500/include -o exhaustive benchmarks/elementary_exhaustive.cpp; ./exhaustive exp
// A second number is the stride for a sample (exp 61), and how many pairs for pow (pow 100000000).
#include <stdexcept>
#include <deep500/deep500.h>
#include "../deep500/elementary/elementary.cpp"
#include <cstdio>
#include <cstdlib>
#include <string>

static long double truth(const std::string &name, long double x, long double y) {
    if (name == "exp") return expl(x);
    if (name == "log") return logl(x);
    if (name == "tanh") return tanhl(x);
    if (name == "sigmoid") return 1 / (1 + expl(-x));
    if (name == "erf") return erfl(x);
    if (name == "rsqrt") return 1 / sqrtl(x);
    return powl(x, y);
}

template<typename Call>
static void run(const std::string &name, Call call, uint64_t count, bool pairs, uint64_t stride) {
    long double largest = 0;
    float at = 0, at_y = 0;
    uint64_t wrong = 0, special = 0, finite = 0;
    long double scales[255];
    for (int e = 0; e < 255; ++e) scales[e] = ldexpl(1, 150 - (e ? e : 1));
    uint64_t state = 0x9E3779B97F4A7C15u;
    for (uint64_t i = 0; i < count; i += stride) {
        float x, y = 0;
        if (pairs) {  // splitmix64
            uint64_t z = (state += 0x9E3779B97F4A7C15u);
            z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
            z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
            z ^= z >> 31;
            x = bits<float>(static_cast<uint32_t>(z));
            y = bits<float>(static_cast<uint32_t>(z >> 32));
            // every second pair is drawn where powers are finite
            if (i & 1) x = 0.01f + static_cast<uint32_t>(z) * (100.0f / 4294967296.0f);
            if (i & 1) y = (static_cast<int32_t>(z >> 32)) * (20.0f / 2147483648.0f);
        } else x = bits<float>(static_cast<uint32_t>(i));
        float result = call(x, y);
        long double exact = truth(name, x, y);
        float rounded = static_cast<float>(exact);
        if (std::isnan(exact) || std::isinf(rounded) || std::isinf(exact)) {
            bool same = std::isnan(exact) ? std::isnan(result) : bits<uint32_t>(result) == bits<uint32_t>(rounded);
            special += !same;
            continue;
        }
        ++finite;
        wrong += bits<uint32_t>(result) != bits<uint32_t>(rounded);
        // one over the distance of the floats at the result
        long double scale = scales[(bits<uint32_t>(rounded) >> 23) & 0xFF];
        long double error = fabsl(static_cast<long double>(result) - exact) * scale;
        if (!(error <= largest)) largest = error, at = x, at_y = y;
    }
    printf("%s: largest error %.9Lf ULP at %.9g", name.c_str(), largest, at);
    if (pairs) printf(", %.9g", at_y);
    printf("; %llu of %llu not correctly rounded; %llu wrong infinities or NaN\n", (unsigned long long)wrong,
           (unsigned long long)finite, (unsigned long long)special);
}

template<typename Formula>
static float one(float x) {
    double wide = widen(x);
    return narrow(std::isnan(wide) ? wide : Formula::value(Arithmetic(wide), wide));
}

int main(int number, char **arguments) {
    std::string name = arguments[1];
    uint64_t all = uint64_t(1) << 32;
    uint64_t last = number > 2 ? strtoull(arguments[2], nullptr, 10) : 1;
    if (name == "exp") run(name, [](float x, float) { return one<ExpFormula>(x); }, all, false, last);
    if (name == "log") run(name, [](float x, float) { return one<LogFormula>(x); }, all, false, last);
    if (name == "tanh") run(name, [](float x, float) { return one<TanhFormula>(x); }, all, false, last);
    if (name == "sigmoid") run(name, [](float x, float) { return one<SigmoidFormula>(x); }, all, false, last);
    if (name == "erf") run(name, [](float x, float) { return one<ErfFormula>(x); }, all, false, last);
    if (name == "rsqrt") run(name, [](float x, float) { return one<RsqrtFormula>(x); }, all, false, last);
    if (name == "pow")
        run(name, [](float x, float y) { return narrow(power(Arithmetic(widen(y)), widen(x), widen(y))); },
            last, true, 1);
}
