// Rows from the shape, one thread per row; stable.
template<typename T>
class softmax_rows : public deep500::CustomOperator {
    int64_t rows, columns;
public:
    softmax_rows(const deep500::tensor_t *inputs, const deep500::tensor_t *) {
        columns = inputs->dims ? inputs->sizes[inputs->dims - 1] : 1;
        rows = columns ? inputs->size() / columns : 0;
    }
    void forward(const T *x, T *y) {
        #pragma omp parallel for
        for (int64_t r = 0; r < rows; ++r) {
            const T *row = x + r * columns;
            T *out = y + r * columns;
            T largest = row[0];
            for (int64_t i = 0; i < columns; ++i)
                if (row[i] > largest || row[i] != row[i]) largest = row[i];
            double total = 0;
            for (int64_t i = 0; i < columns; ++i) total += std::exp(double(row[i]) - double(largest));
            for (int64_t i = 0; i < columns; ++i) out[i] = T(std::exp(double(row[i]) - double(largest)) / total);
        }
    }
    void backward(const T *dy, const T *x, const T *y, T *dx) {
        #pragma omp parallel for
        for (int64_t r = 0; r < rows; ++r) {
            double along = 0;
            for (int64_t i = r * columns; i < (r + 1) * columns; ++i) along += double(dy[i]) * double(y[i]);
            for (int64_t i = r * columns; i < (r + 1) * columns; ++i)
                dx[i] = T(double(y[i]) * (double(dy[i]) - along));
        }
    }
};
