// Without a backward, and with its own way of being made.
template<typename T>
class own_ending : public deep500::CustomOperator {
    int64_t n;
public:
    own_ending(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        for (int64_t i = 0; i < n; ++i) y[i] = std::floor(x[i]);
    }
};

D500_EXPORTED void *create_new_op(deep500::tensor_t *in, int, deep500::tensor_t *, int) {
    return new own_ending<DTYPE>(in[0].size());
}
D500_REGISTER_OP(own_ending<DTYPE>);
