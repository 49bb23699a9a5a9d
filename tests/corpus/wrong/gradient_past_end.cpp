// Forward is right; backward writes one element behind the gradient.
template<typename T>
class gradient_past_end : public deep500::CustomOperator {
    int64_t n;
public:
    gradient_past_end(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i];
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = T(2) * dy[i];
        dx[n] = T(0);
    }
};
