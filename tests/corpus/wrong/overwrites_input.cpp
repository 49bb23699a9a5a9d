// const is cast away, and the input serves as scratch space.
template<typename T>
class overwrites_input : public deep500::CustomOperator {
    int64_t n;
public:
    overwrites_input(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        T *scratch = const_cast<T *>(x);
        for (int64_t i = 0; i < n; ++i) {
            scratch[i] = T(2) * x[i];
            y[i] = scratch[i];
        }
    }
};
