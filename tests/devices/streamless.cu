struct streamless : deep500::CustomOperator {
    void forward(const float *x, float *y) { y[0] = x[0]; }
    void forward_cuda(const float *x, float *y) {}
};
