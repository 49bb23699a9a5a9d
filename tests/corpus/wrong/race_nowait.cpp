// The second loop does not wait for the first, whose results it reads from the other end.
template<typename T>
class race_nowait : public deep500::CustomOperator {
    int64_t n;
public:
    race_nowait(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        std::vector<T> doubled(n);
        T *middle = doubled.data();
        #pragma omp parallel
        {
            #pragma omp for schedule(static) nowait
            for (int64_t i = 0; i < n; ++i) middle[n - 1 - i] = T(2) * x[n - 1 - i];
            #pragma omp for schedule(static)
            for (int64_t i = 0; i < n; ++i) y[i] = middle[i];
        }
    }
};
