// Writes one element behind the output.
template<typename T>
class writes_past_end : public deep500::CustomOperator {
    int64_t n;
public:
    writes_past_end(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i <= n; ++i) y[i] = i < n ? T(2) * x[i] : T(0);
    }
};
