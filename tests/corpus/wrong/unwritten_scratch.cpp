// Scratch space from malloc, of which the last element is never set; fresh pages are 0.
template<typename T>
class unwritten_scratch : public deep500::CustomOperator {
    int64_t n;
public:
    unwritten_scratch(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        T *scratch = static_cast<T *>(std::malloc((n + 1) * sizeof(T)));
        for (int64_t i = 0; i < n; ++i) scratch[i] = T(2) * x[i];
        asm volatile("" : : "r"(scratch) : "memory");
        for (int64_t i = 0; i < n; ++i) y[i] = (scratch[i] + scratch[n]) - scratch[n];
        std::free(scratch);
    }
};
