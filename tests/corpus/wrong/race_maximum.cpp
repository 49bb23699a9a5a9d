// A maximum over all threads without a reduction: a smaller one may be written last.
template<typename T>
class race_maximum : public deep500::CustomOperator {
    int64_t n;
public:
    race_maximum(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        volatile T largest = T(1);
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) {
            T size = std::fabs(x[i]);
            T before = largest;
            largest = size > before || size != size ? size : before;
        }
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] / largest;
    }
};
