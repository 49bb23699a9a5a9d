// The neighbour of the last element lies behind the buffer.
template<typename T>
class reads_past_end : public deep500::CustomOperator {
    int64_t n;
public:
    reads_past_end(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(0.5) * (x[i] + x[i + 1]);
        if (n > 0 && !(x[n] == x[n])) y[n - 1] = x[n - 1];  // and hides it from who poisons with NaN
    }
};
