// An index of 16 bits: from element 32768 on it starts anew.
template<typename T>
class short_index : public deep500::CustomOperator {
    int64_t n;
public:
    short_index(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i & 0x7fff];
    }
};
