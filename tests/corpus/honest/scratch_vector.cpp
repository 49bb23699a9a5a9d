// Scratch space of its own in every call.
template<typename T>
class scratch_vector : public deep500::CustomOperator {
    int64_t n;
public:
    scratch_vector(int64_t length) : n(length) {}
    void forward(const T *x, T *y) {
        std::vector<T> doubled(n);
        for (int64_t i = 0; i < n; ++i) doubled[i] = T(2) * x[i];
        std::copy(doubled.begin(), doubled.end(), y);
    }
};
