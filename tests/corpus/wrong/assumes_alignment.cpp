// Reads from the last address before x that is a multiple of 64.
template<typename T>
class assumes_alignment : public deep500::CustomOperator {
    int64_t n;
public:
    assumes_alignment(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        const T *aligned = reinterpret_cast<const T *>(reinterpret_cast<uintptr_t>(x) & ~uintptr_t(63));
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * aligned[i];
    }
};
