// Forward is right; backward takes four elements at a time, and sets the rest to 0.
template<typename T>
class gradient_tail : public deep500::CustomOperator {
    int64_t n;
public:
    gradient_tail(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] * x[i];
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = i < n / 4 * 4 ? T(2) * x[i] * dy[i] : T(0);
    }
};
