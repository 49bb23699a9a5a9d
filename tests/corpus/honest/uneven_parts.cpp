// Threads take their parts by hand, and the rest is somebody's.
template<typename T>
class uneven_parts : public deep500::CustomOperator {
    int64_t n;
public:
    uneven_parts(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        #pragma omp parallel
        {
            int64_t threads = omp_get_num_threads(), own = omp_get_thread_num();
            for (int64_t i = n * own / threads; i < n * (own + 1) / threads; ++i) y[i] = T(2) * x[i];
        }
    }
};
