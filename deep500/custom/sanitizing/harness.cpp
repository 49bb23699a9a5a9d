// Calls an operator as a framework would: every call has memory of its own, and backward sees copies of what forward
// saw, which is gone by then.
//
//     harness CASE REPLY THREADS CALLS ATONCE
//
// CASE holds the shapes and values. REPLY gets a line for each array ("role index address bytes elements"), and at last "done" or
// "fault" with the operator's error. ATONCE calls run at the same time.
#include <deep500/deep500.h>

#include <atomic>
#include <cstdio>
#include <thread>

extern "C" const char *d500_forward(deep500::tensor_t *, int, int, void **, int);
extern "C" const char *d500_backward(deep500::tensor_t *, int, int, void **, int);

namespace {

FILE *reply;

struct Case {
    int32_t inputs, outputs, backward;
    std::vector<std::vector<uint32_t>> sizes;
    std::vector<deep500::tensor_t> tensors;
    std::vector<size_t> bytes;
    std::vector<std::vector<char>> values;  // of inputs, then of gradients of outputs

    explicit Case(FILE *file) {
        read(file, &inputs, 3);
        for (int i = 0; i < inputs + outputs; ++i) {
            int32_t type, dims;
            read(file, &type, 1), read(file, &dims, 1);
            sizes.emplace_back(dims), bytes.emplace_back();
            read(file, sizes[i].data(), dims), read(file, &bytes[i], 1);
            tensors.push_back({deep500::tensortype_t(type), deep500::TORD_IRRELEVANT, dims, nullptr});
        }
        for (int i = 0; i < inputs + outputs; ++i)
            tensors[i].sizes = sizes[i].data();
        for (int i = 0; i < inputs + (backward ? outputs : 0); ++i) {
            values.emplace_back(bytes[i]);
            read(file, values[i].data(), bytes[i]);
        }
    }

    template<typename T>
    static void read(FILE *file, T *place, size_t count) {
        if (fread(place, sizeof(T), count, file) != count)
            std::exit(4);
    }
};

struct Call {
    const Case &problem;
    std::vector<void *> forward, backward;  // the pointers that each function takes

    explicit Call(const Case &problem) : problem(problem) {
        int n = problem.inputs, m = problem.outputs;
        auto add = [&](std::vector<void *> &to, const char *role, int count, int first) {
            for (int i = 0; i < count; ++i) {
                size_t bytes = problem.bytes[first + i];
                to.push_back(std::malloc(bytes));
                long long elements = problem.tensors[first + i].size();
                fprintf(reply, "%s %d %p %zu %lld\n", role, i, to.back(), bytes, elements);
            }
        };
        add(forward, "forward-input", n, 0);
        add(forward, "forward-output", m, n);
        for (int i = 0; i < n; ++i)
            std::memcpy(forward[i], problem.values[i].data(), problem.bytes[i]);
        if (!problem.backward)
            return;
        add(backward, "backward-grad", m, n);
        add(backward, "backward-input", n, 0);
        add(backward, "backward-output", m, n);
        add(backward, "backward-result", n, 0);
        for (int i = 0; i < m; ++i)
            std::memcpy(backward[i], problem.values[n + i].data(), problem.bytes[n + i]);
        for (int i = 0; i < n; ++i)
            std::memcpy(backward[m + i], problem.values[i].data(), problem.bytes[i]);
    }
    ~Call() { release(backward); }

    void run_forward(int threads) {
        auto tensors = problem.tensors;
        int n = problem.inputs, m = problem.outputs;
        check(d500_forward(tensors.data(), n, m, forward.data(), threads));
        if (problem.backward)
            for (int i = 0; i < m; ++i)
                std::memcpy(backward[m + n + i], forward[n + i], problem.bytes[n + i]);
        release(forward);
    }

    void run_backward(int threads) {
        auto tensors = problem.tensors;
        if (problem.backward)
            check(d500_backward(tensors.data(), problem.inputs, problem.outputs, backward.data(), threads));
    }

    static void check(const char *fault) {
        if (!fault)
            return;
        fprintf(reply, "fault %s\n", fault);
        fflush(reply);
        std::_Exit(0);
    }

    // ThreadSanitizer would give the memory to the next array, and a report would not tell which of them it means.
    static void release(std::vector<void *> &arrays) {
#ifndef __SANITIZE_THREAD__
        for (void *memory : arrays)
            std::free(memory);
#endif
        arrays.clear();
    }
};

void run_at_once(const Case &problem, int count, int threads) {
    std::vector<std::unique_ptr<Call>> calls;
    for (int i = 0; i < count; ++i)
        calls.push_back(std::make_unique<Call>(problem));
    fflush(reply);
    std::atomic<int> arrived{0};
    auto together = [&](int step) {  // relaxed: it keeps the calls at one step, and ThreadSanitizer sees no order
        arrived.fetch_add(1, std::memory_order_relaxed);
        while (arrived.load(std::memory_order_relaxed) < step * count)
            std::this_thread::yield();
    };
    auto begin = [&](Call *call) {
        together(1);
        call->run_forward(threads);
        together(2);
        call->run_backward(threads);
    };
    std::vector<std::thread> others;
    for (int i = 1; i < count; ++i)
        others.emplace_back(begin, calls[i].get());
    begin(calls[0].get());
    for (auto &other : others)
        other.join();
}

}  // namespace

int main(int, char **words) {
    FILE *file = fopen(words[1], "rb");
    reply = fopen(words[2], "w");
    if (!file || !reply)
        return 4;
    {
        Case problem(file);
        fclose(file);
        for (int call = 0; call < std::atoi(words[4]); ++call)
            run_at_once(problem, std::atoi(words[5]), std::atoi(words[3]));
    }
    fprintf(reply, "done\n");
    fclose(reply);
}
