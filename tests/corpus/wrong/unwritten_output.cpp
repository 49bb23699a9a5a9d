// The last element is left as it was found.
template<typename T>
class unwritten_output : public deep500::CustomOperator {
    int64_t n;
public:
    unwritten_output(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i + 1 < n; ++i) y[i] = T(2) * x[i];
    }
};
