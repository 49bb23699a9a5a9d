// Backward reads the input where forward found it, not where it is given.
template<typename T>
class keeps_pointer : public deep500::CustomOperator {
    int64_t n;
    const T *last = nullptr;
public:
    keeps_pointer(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        last = x;
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * x[i];
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        const T *from = last ? last : x;
        for (int64_t i = 0; i < n; ++i) dx[i] = T(2) * from[i] * dy[i];
    }
};
