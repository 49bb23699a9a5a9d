// Bins are counted without atomic additions.
template<typename T>
class race_histogram : public deep500::CustomOperator {
    int64_t n;
    static int bin(T x) {
        double place = std::fmod(std::floor(2 * double(x)), 8);
        return std::isfinite(place) ? int(place + 8) & 7 : 0;
    }
public:
    race_histogram(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        int64_t counts[8] = {};
        volatile int64_t *shared = counts;
        #pragma omp parallel for
        for (int64_t i = 0; i < n; ++i) shared[bin(x[i])] = shared[bin(x[i])] + 1;
        for (int64_t i = 0; i < n; ++i) y[i] = T(counts[bin(x[i])]);
    }
};
