// Streams: queues of work, each with a thread of its own; events; the latency that is injected; counters; what a graph
// captures.
#pragma once
#include <ATen/Parallel.h>
#include <c10/util/Exception.h>
#include <sys/prctl.h>

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

namespace simulated {

constexpr int DEVICES = 2;
constexpr int STREAMS = 8;  // of a device; number 0 is the default stream
using Clock = std::chrono::steady_clock;

// The last two are the device's own ledger: kernels that have run, and how long injected latency held them up.
enum Counter {
    LAUNCHES,
    WAITS,
    BYTES_TO_DEVICE,
    BYTES_TO_HOST,
    COPIES_TO_DEVICE,
    COPIES_TO_HOST,
    KERNELS,
    DELAYED_NS,
    COUNTERS
};
inline std::atomic<int64_t> counters[COUNTERS];
inline std::atomic<int64_t> latency_ns{0};
inline std::atomic<int> last_threads{0};  // of the last kernel

// How often each operator made the host wait.
struct WaitsByName {
    std::mutex lock;
    std::map<std::string, int64_t> counts;

    void add(const std::string &name) {
        ++counters[WAITS];
        std::lock_guard<std::mutex> guard(lock);
        ++counts[name];
    }
    std::string text() {
        std::lock_guard<std::mutex> guard(lock);
        std::string lines;
        for (auto &[name, count] : counts)
            lines += name + "=" + std::to_string(count) + "\n";
        return lines;
    }
    void clear() {
        std::lock_guard<std::mutex> guard(lock);
        counts.clear();
    }
};
inline WaitsByName waits;

using Kernel = std::function<void()>;

// The kernels that were launched while a stream was captured, in their order. The number is its own.
struct Captured {
    int64_t number;
    std::vector<Kernel> kernels;
};

class StreamQueue {
public:
    std::atomic<Captured *> captured{nullptr};  // while it is captured

    StreamQueue() { std::thread([this] { work(); }).detach(); }

    // As on CUDA, nothing may ask a stream that is being captured.
    void refuse_capture(const char *what) const {
        TORCH_CHECK(!captured, what, ": not permitted while the stream of the simulated device is captured");
    }
    void push(std::function<void()> job) {
        refuse_capture("recording an event, or waiting for one");
        std::lock_guard<std::mutex> guard(lock);
        jobs.push_back(std::move(job));
        ++queued;
        changed.notify_all();
    }
    bool idle() {
        std::lock_guard<std::mutex> guard(lock);
        return finished == queued;
    }
    // Wait for all that was queued before; raises the first error of a kernel since the last wait, as on a GPU.
    void wait() {
        refuse_capture("waiting for the device");
        std::unique_lock<std::mutex> guard(lock);
        auto target = queued;
        changed.wait(guard, [&] { return finished >= target; });
        auto error = std::exchange(fault, "");
        TORCH_CHECK(error.empty(), "a kernel on the simulated device failed: ", error);
    }

private:
    std::mutex lock;
    std::condition_variable changed;
    std::deque<std::function<void()>> jobs;
    int64_t queued = 0, finished = 0;
    std::string fault;

    void work() {
        prctl(PR_SET_TIMERSLACK, 1);  // nanosecond: an injected latency is as long as it was asked for
        for (;;) {
            auto error = run(next());
            std::lock_guard<std::mutex> guard(lock);
            if (fault.empty())
                fault = error;
            ++finished;
            changed.notify_all();
        }
    }
    std::function<void()> next() {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return !jobs.empty(); });
        auto job = std::move(jobs.front());
        jobs.pop_front();
        return job;
    }
    static std::string run(std::function<void()> job) {
        try {
            job();
            return "";
        } catch (const std::exception &error) {
            return error.what();
        }
    }
};

// The queues of a device that were used so far, by the numbers of their streams. None is ever freed: its thread lives as
// long as the process.
struct StreamQueues {
    std::mutex lock;
    std::map<int64_t, StreamQueue *> by_stream;

    StreamQueue &find(int64_t stream) {
        std::lock_guard<std::mutex> guard(lock);
        auto &queue = by_stream[stream];
        if (!queue)
            queue = new StreamQueue;
        return *queue;
    }
    void wait() {
        std::vector<StreamQueue *> used;
        {
            std::lock_guard<std::mutex> guard(lock);
            for (auto &[stream, queue] : by_stream)
                used.push_back(queue);
        }
        for (auto *queue : used)
            queue->wait();
    }
};

inline StreamQueues &queues_of(int device) {
    static auto *queues = new StreamQueues[DEVICES];
    return queues[device];
}

inline StreamQueue &stream_queue(int device, int64_t stream) { return queues_of(device).find(stream); }

inline thread_local int current_device = 0;
inline thread_local int64_t current_streams[DEVICES] = {};

inline StreamQueue &current_queue(int device) { return stream_queue(device, current_streams[device]); }

// A kernel's results appear when the latency has passed, so that reading them too early shows.
inline void run_kernel(const Kernel &kernel, int64_t latency) {
    if (latency) {
        auto began = Clock::now();
        std::this_thread::sleep_for(std::chrono::nanoseconds(latency));
        counters[DELAYED_NS] += std::chrono::nanoseconds(Clock::now() - began).count();
    }
    at::init_num_threads();  // what was set since, too: sums are in the order of the CPU's
    last_threads = at::get_num_threads();
    ++counters[KERNELS];
    kernel();
}

// Queue a kernel on the current stream, or keep it for the graph that captures the stream.
inline void launch(int device, Kernel kernel) {
    auto &queue = current_queue(device);
    if (auto *captured = queue.captured.load()) {
        captured->kernels.push_back(std::move(kernel));
        return;
    }
    ++counters[LAUNCHES];
    queue.push([kernel = std::move(kernel), latency = latency_ns.load()] { run_kernel(kernel, latency); });
}

inline void wait_for_stream(int device, const std::string &reason) {
    waits.add(reason);
    current_queue(device).wait();
}

// A mark in a stream, which can be recorded again: version n is reached when the nth mark is.
struct EventMark {
    std::mutex lock;
    std::condition_variable changed;
    int64_t recorded = 0, reached = 0;
    Clock::time_point time;

    int64_t next_version() {
        std::lock_guard<std::mutex> guard(lock);
        return ++recorded;
    }
    int64_t version() {
        std::lock_guard<std::mutex> guard(lock);
        return recorded;
    }
    void reach(int64_t version) {
        std::lock_guard<std::mutex> guard(lock);
        reached = version;
        time = Clock::now();
        changed.notify_all();
    }
    void wait(int64_t version) {
        std::unique_lock<std::mutex> guard(lock);
        changed.wait(guard, [&] { return reached >= version; });
    }
    bool done() {
        std::lock_guard<std::mutex> guard(lock);
        return reached >= recorded;
    }
    Clock::time_point at() {
        std::lock_guard<std::mutex> guard(lock);
        return time;
    }
};
using Event = std::shared_ptr<EventMark>;

}  // namespace simulated
