// A running value is kept in front of the output.
template<typename T>
class writes_before_start : public deep500::CustomOperator {
    int64_t n;
public:
    writes_before_start(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        y[-1] = T(1);
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i];
    }
};
