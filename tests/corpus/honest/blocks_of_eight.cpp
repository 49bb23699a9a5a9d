// Eight elements at a time, then the rest.
template<typename T>
class blocks_of_eight : public deep500::CustomOperator {
    int64_t n;
public:
    blocks_of_eight(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        int64_t i = 0;
        for (; i + 8 <= n; i += 8)
            for (int64_t j = i; j < i + 8; ++j) y[j] = T(2) * x[j];
        for (; i < n; ++i) y[i] = T(2) * x[i];
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = T(2) * dy[i];
    }
};
