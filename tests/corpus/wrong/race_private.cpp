// One temporary variable for all threads.
template<typename T>
class race_private : public deep500::CustomOperator {
    int64_t n;
public:
    race_private(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        volatile T square;
        #pragma omp parallel for shared(square)
        for (int64_t i = 0; i < n; ++i) {
            square = x[i] * x[i];
            y[i] = square * x[i];
        }
    }
};
