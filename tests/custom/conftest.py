"""The operators of the talks, as printed."""

from pathlib import Path

import pytest

IPOWOP = """
template<typename T>
class ipowop : public deep500::CustomOperator {
protected:
    int m_len;
public:
    ipowop(int len) : m_len(len) {}
    virtual ~ipowop() {}

    void forward(const T *input, T *output) {
        #pragma omp parallel for
        for (int i = 0; i < m_len; ++i)
            output[i] = std::pow(input[i], DPOWER);
    }

    void backward(const T *nextop_grad,
                  const T *fwd_input_tensor,
                  const T *fwd_output_tensor,
                  T *input_tensor_grad) {
        #pragma omp parallel for
        for (int i = 0; i < m_len; ++i) {
            input_tensor_grad[i] = nextop_grad[i] * DPOWER *
                std::pow(fwd_input_tensor[i], DPOWER - 1);
        }
    }
};
"""

TUTORIAL = """
D500_EXPORTED void *create_new_op(deep500::tensor_t *in, int n_in, deep500::tensor_t *out, int n_out) {
    size_t totalsz = 1;
    for (int i = 0; i < in[0].dims; ++i)
        totalsz *= in[0].sizes[i];
    return new ipowop<DTYPE>(totalsz);
}
D500_REGISTER_OP(ipowop<DTYPE>);
"""


@pytest.fixture(scope="session")
def sources(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with ipowop.cpp as printed in the talks, and tutorial.cpp with the ending of 2019."""
    folder = tmp_path_factory.mktemp("sources")
    (folder / "ipowop.cpp").write_text(IPOWOP)
    (folder / "tutorial.cpp").write_text(
        "#include <deep500/deep500.h>\n" + IPOWOP + TUTORIAL
    )
    return folder
