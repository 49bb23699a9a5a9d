// Every thread takes n / threads elements: what is left over is nobody's.
template<typename T>
class drops_remainder : public deep500::CustomOperator {
    int64_t n;
public:
    drops_remainder(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i];
        #pragma omp parallel
        {
            int64_t chunk = n / omp_get_num_threads();
            int64_t first = chunk * omp_get_thread_num();
            for (int64_t i = first; i < first + chunk; ++i) y[i] = T(2) * x[i];
        }
    }
};
