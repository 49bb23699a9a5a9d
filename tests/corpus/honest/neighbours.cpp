// The mean of each element and the next; the last one is its own neighbour, and nothing behind it is read.
template<typename T>
class neighbours : public deep500::CustomOperator {
    int64_t n;
public:
    neighbours(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) {
            double next = double(x[i + 1 < n ? i + 1 : i]);
            y[i] = T(0.5 * (double(x[i]) + next));
        }
    }
};
