// A sum over all threads: its order may change, its value hardly.
template<typename T>
class reduction : public deep500::CustomOperator {
    int64_t n;
public:
    reduction(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        double total = 0;
        #pragma omp parallel for reduction(+ : total)
        for (int64_t i = 0; i < n; ++i) total += std::fabs(double(x[i]));
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) y[i] = T(double(x[i]) / (1 + total));
    }
};
