// The second input is taken to be as long as the first: one row of it is read on past its end.
template<typename T>
class second_input_short : public deep500::CustomOperator {
    int64_t n;
public:
    second_input_short(int64_t length) : n(length) {}
    void forward(const T *x, const T *bias, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] + bias[i];
    }
};
