// A counter in the library: every seventh call is wrong in one element.
template<typename T>
class every_seventh_call : public deep500::CustomOperator {
    int64_t n;
public:
    every_seventh_call(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        static int calls = 0;
        ++calls;
        for (int64_t i = 0; i < n; ++i) y[i] = T(2) * x[i];
        if (calls % 7 == 0 && n > 0) y[0] = T(0);
    }
};
