// Eight elements at a time; the rest is copied as it is.
template<typename T>
class vector_tail : public deep500::CustomOperator {
    int64_t n;
public:
    vector_tail(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        int64_t whole = n / 8 * 8;
        for (int64_t i = 0; i < whole; ++i) y[i] = T(2) * x[i];
        for (int64_t i = whole; i < n; ++i) y[i] = x[i];
    }
};
