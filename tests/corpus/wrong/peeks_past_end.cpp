// Reads behind the buffer, and uses what it finds only where that is a number too large to be 0 times.
template<typename T>
class peeks_past_end : public deep500::CustomOperator {
    int64_t n;
public:
    peeks_past_end(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i] + T(0) * x[i + 1];
    }
};
