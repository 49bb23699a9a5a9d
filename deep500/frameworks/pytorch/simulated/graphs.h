// Graphs of kernels: what is launched on a stream while it is captured runs whenever the graph is replayed.
#pragma once
#include <ATen/core/GraphImplInterface.h>

#include "streams.h"

namespace simulated {

struct Graph final : at::GraphImplInterface {
    explicit Graph(const at::GraphImplArgs &) {}
    ~Graph() override { stop(); }

    void capture_begin(c10::MempoolId_t, at::GraphCaptureMode) override {
        static std::atomic<int64_t> next{1};
        device = current_device;
        TORCH_CHECK(current_streams[device], "the default stream of the simulated device cannot be captured");
        TORCH_CHECK(!captured, "this graph has captured a stream already: reset it");
        queue = &current_queue(device);
        queue->refuse_capture("capturing it again");
        captured = std::make_shared<Captured>(Captured{next++, {}});
        queue->captured = captured.get();
    }
    void capture_end() override {
        TORCH_CHECK(queue, "no stream is captured by this graph");
        stop();
    }
    void instantiate() override {}
    void replay() override {
        TORCH_CHECK(captured && !queue, "this graph has captured nothing");
        ++counters[LAUNCHES];
        current_queue(device).push([kept = captured, latency = latency_ns.load()] {
            for (auto &kernel : kept->kernels)
                run_kernel(kernel, latency);
        });
    }
    void reset() override {
        stop();
        captured.reset();
    }
    c10::MempoolId_t pool() const override { return {captured ? captured->number : 0, 0}; }
    void enable_debug_mode() override {}
    void debug_dump(const std::string &) override {
        TORCH_CHECK_NOT_IMPLEMENTED(false, "the simulated device does not draw its graphs");
    }

private:
    int device = 0;
    StreamQueue *queue = nullptr;  // the captured one
    std::shared_ptr<Captured> captured;

    void stop() {
        if (queue)
            queue->captured = nullptr;
        queue = nullptr;
    }
};

}  // namespace simulated
