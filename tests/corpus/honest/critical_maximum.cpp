// Each thread has a maximum of its own; they are joined one after another. NaN wins.
template<typename T>
class critical_maximum : public deep500::CustomOperator {
    int64_t n;
public:
    critical_maximum(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        T largest = T(1);
        #pragma omp parallel
        {
            T own = T(1);
            #pragma omp for
            for (int64_t i = 0; i < n; ++i) {
                T size = std::fabs(x[i]);
                if (size > own || size != size) own = size;
            }
            #pragma omp critical
            if (own > largest || own != own) largest = own;
        }
        for (int64_t i = 0; i < n; ++i) y[i] = x[i] / largest;
    }
};
