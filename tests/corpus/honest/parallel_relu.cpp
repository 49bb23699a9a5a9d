// One element, one thread.
template<typename T>
class parallel_relu : public deep500::CustomOperator {
    int64_t n;
public:
    parallel_relu(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] > T(0) || x[i] != x[i] ? x[i] : T(0);
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) dx[i] = x[i] > T(0) ? dy[i] : T(0);
    }
};
