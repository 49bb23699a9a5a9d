// Backward uses the values of whichever forward came last.
template<typename T>
class state_in_member : public deep500::CustomOperator {
    int64_t n;
    std::vector<T> kept;
public:
    state_in_member(int64_t length) : n(length), kept(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) {
            kept[i] = x[i];
            y[i] = x[i] * x[i];
        }
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        for (int64_t i = 0; i < n; ++i) dx[i] = T(2) * kept[i] * dy[i];
    }
};
