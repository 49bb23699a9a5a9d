// Adds to the output as if somebody had set it to 0.
template<typename T>
class unwritten_sum : public deep500::CustomOperator {
    int64_t n;
public:
    unwritten_sum(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] += T(2) * x[i];
    }
};
