// All threads add to one total: the reduction clause is missing.
template<typename T>
class race_sum : public deep500::CustomOperator {
    int64_t n;
public:
    race_sum(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        double total = 0;
        volatile double *shared = &total;
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) *shared = *shared + std::fabs(double(x[i]));
        for (int64_t i = 0; i < n; ++i) y[i] = T(double(x[i]) / (1 + total));
    }
};
