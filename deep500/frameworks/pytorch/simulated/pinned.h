// Pinned host memory: only from there does a copy to the device not wait, as on a GPU.
#pragma once
#include "memory.h"

namespace simulated {

struct PinnedAllocator final : c10::Allocator {
    c10::DataPtr allocate(size_t bytes) override {
        auto memory = c10::GetAllocator(at::kCPU)->allocate(bytes);
        auto *address = static_cast<char *>(memory.get());
        {
            std::lock_guard<std::mutex> guard(lock);
            ends[address] = address + bytes;
        }
        auto *context = new c10::DataPtr(std::move(memory));
        return {address, context, &release, c10::Device(at::kCPU)};
    }
    static void release(void *context);
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
    void copy_data(void *to, const void *from, size_t bytes) const override { std::memcpy(to, from, bytes); }

    bool holds(const void *address) {
        std::lock_guard<std::mutex> guard(lock);
        auto *wanted = static_cast<const char *>(address);
        auto next = ends.upper_bound(wanted);
        return next != ends.begin() && wanted < std::prev(next)->second;
    }
    void forget(const void *address) {
        std::lock_guard<std::mutex> guard(lock);
        ends.erase(static_cast<const char *>(address));
    }

private:
    std::mutex lock;
    std::map<const char *, const char *> ends;  // of the allocated blocks, by their beginnings
};

inline auto &pinned_allocator = *new PinnedAllocator;  // never freed: tensors may outlive the end of the process

inline void PinnedAllocator::release(void *context) {
    std::unique_ptr<c10::DataPtr> memory(static_cast<c10::DataPtr *>(context));
    pinned_allocator.forget(memory->get());
}

}  // namespace simulated
