struct waiting : deep500::CustomOperator {
    void forward(const float *x, float *y) { y[0] = x[0]; }
    void backward(const float *dy, const float *, const float *, float *dx) { dx[0] = dy[0]; }
    void forward_cuda(const float *x, float *y, cudaStream_t stream) {
        float *scratch;
        cudaMalloc(&scratch, 4);
        cudaStreamSynchronize(stream);
        cudaFree(scratch);
    }
};
