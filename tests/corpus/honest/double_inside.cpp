// Works in double, and rounds once.
template<typename T>
class double_inside : public deep500::CustomOperator {
    int64_t n;
public:
    double_inside(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(std::tanh(double(x[i])));
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) {
            double t = std::tanh(double(x[i]));
            dx[i] = T(double(dy[i]) * (1 - t) * (1 + t));
        }
    }
};
