// Forward is right; in backward all threads add to one sum. y = x + mean(x)
template<typename T>
class race_gradient : public deep500::CustomOperator {
    int64_t n;
public:
    race_gradient(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        double total = 0;
        for (int64_t i = 0; i < n; ++i) total += double(x[i]);
        for (int64_t i = 0; i < n; ++i) y[i] = T(double(x[i]) + total / double(n));
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        double total = 0;
        volatile double *shared = &total;
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) *shared = *shared + double(dy[i]);
        for (int64_t i = 0; i < n; ++i) dx[i] = T(double(dy[i]) + total / double(n));
    }
};
