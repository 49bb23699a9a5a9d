// The difference to the element before, which the first one has outside of the buffer.
template<typename T>
class reads_before_start : public deep500::CustomOperator {
    int64_t n;
public:
    reads_before_start(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i] + T(0) * x[i - 1];
    }
};
