// double takes the way through float.
template<typename T>
class float_inside : public deep500::CustomOperator {
    int64_t n;
public:
    float_inside(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(std::tanh(float(x[i])));
    }
};
