// The memory of a device: an arena that is mapped twice. Tensors hold addresses of a mapping that nobody may read or
// write, so that host code which follows one is ended by SIGSEGV; the threads of the streams use the other mapping.
#pragma once
#include <ATen/ATen.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <sys/mman.h>
#include <unistd.h>

#include "streams.h"

namespace simulated {

constexpr auto TYPE = c10::DeviceType::PrivateUse1;
constexpr size_t ARENA_BYTES = size_t(4) << 30;  // pages that no tensor has used take no memory
constexpr size_t ALIGNMENT = 512;
inline std::atomic<size_t> memory_limit{ARENA_BYTES};  // of a device

struct Arena {
    char *forbidden;
    char *usable;
    size_t top = 0;
    std::mutex lock;
    // Freed blocks by stream (or graph) and size: they are reused in its order only, as by allocators of GPUs.
    std::multimap<std::pair<int64_t, size_t>, char *> freed;
    c10::CachingAllocator::Stat bytes, blocks;

    Arena() {
        int file = memfd_create("simulated device", MFD_CLOEXEC);
        TORCH_CHECK(file >= 0 && !ftruncate(file, ARENA_BYTES), "no memory for a simulated device");
        forbidden = map(file, PROT_NONE);
        usable = map(file, PROT_READ | PROT_WRITE);
        close(file);
    }
    static char *map(int file, int protection) {
        void *address = mmap(nullptr, ARENA_BYTES, protection, MAP_SHARED, file, 0);
        TORCH_CHECK(address != MAP_FAILED, "no address space for a simulated device");
        return static_cast<char *>(address);
    }
    bool holds(const void *address) const { return address >= forbidden && address < forbidden + ARENA_BYTES; }
    void *usable_address(const void *address) const {
        return address ? usable + (static_cast<const char *>(address) - forbidden) : nullptr;
    }
    // A block of at least so many bytes, whose size becomes that of the block; a freed one may be twice as large.
    char *take(int64_t stream, size_t &size) {
        check_room(size_t(bytes.current) + size <= memory_limit, size);
        auto found = freed.lower_bound({stream, size});
        if (found != freed.end() && found->first.first == stream && found->first.second <= 2 * size) {
            auto *address = found->second;
            size = found->first.second;
            freed.erase(found);
            return address;
        }
        auto *address = forbidden + top;
        check_room(top + size <= ARENA_BYTES, size);
        top += size;
        return address;
    }
    void check_room(bool has_room, size_t size) const {
        TORCH_CHECK_WITH(OutOfMemoryError, has_room, "the simulated device is out of memory: ", size,
                         " bytes were asked for, ", bytes.current, " of ", memory_limit.load(), " are in use");
    }
};

// Which freed blocks the current stream may reuse. Those of a graph are its own: each replay writes into them.
inline int64_t pool_of_current_stream(int device) {
    auto *captured = current_queue(device).captured.load();
    return captured ? -captured->number : current_streams[device];
}

inline Arena &arena(int device) {
    static auto *arenas = new Arena[DEVICES];
    return arenas[device];
}

struct Block {
    char *address;
    size_t size;
    int device;
    int64_t stream;
};

struct Allocator final : c10::DeviceAllocator {
    c10::DataPtr allocate(size_t bytes) override {
        int device = current_device;
        if (!bytes)
            return {nullptr, c10::Device(TYPE, device)};
        auto &memory = arena(device);
        auto stream = pool_of_current_stream(device);
        size_t size = (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        std::lock_guard<std::mutex> guard(memory.lock);
        auto *address = memory.take(stream, size);
        memory.bytes.increase(size);
        memory.blocks.increase(1);
        return {address, new Block{address, size, device, stream}, &release, c10::Device(TYPE, device)};
    }
    static void release(void *context) {
        std::unique_ptr<Block> block(static_cast<Block *>(context));
        auto &memory = arena(block->device);
        std::lock_guard<std::mutex> guard(memory.lock);
        memory.freed.insert({{block->stream, block->size}, block->address});
        memory.bytes.decrease(block->size);
        memory.blocks.decrease(1);
    }
    c10::DeleterFnPtr raw_deleter() const override { return nullptr; }
    void copy_data(void *, const void *, size_t) const override {
        TORCH_CHECK(false, "the simulated device copies tensors only");
    }
    bool initialized() override { return true; }
    void emptyCache(c10::MempoolId_t) override {}
    void recordStream(const c10::DataPtr &, c10::Stream) override {}
    c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex device) override {
        auto &memory = arena(device);
        std::lock_guard<std::mutex> guard(memory.lock);
        c10::CachingDeviceAllocator::DeviceStats stats;
        stats.allocated_bytes[0] = stats.active_bytes[0] = stats.requested_bytes[0] = memory.bytes;
        stats.allocation[0] = memory.blocks;
        stats.reserved_bytes[0].current = stats.reserved_bytes[0].peak = int64_t(memory.top);
        return stats;
    }
    void resetAccumulatedStats(c10::DeviceIndex device) override { arena(device).bytes.reset_accumulated(); }
    void resetPeakStats(c10::DeviceIndex device) override { arena(device).bytes.reset_peak(); }
    std::pair<size_t, size_t> getMemoryInfo(c10::DeviceIndex device) override {
        size_t limit = memory_limit, used = size_t(arena(device).bytes.current);
        return {used < limit ? limit - used : 0, limit};
    }
};

inline Allocator allocator;

inline bool is_simulated(const at::Tensor &tensor) { return tensor.defined() && tensor.device().type() == TYPE; }

// A tensor of the CPU over the usable memory of a device tensor, for the threads of streams. It does not keep the
// memory alive: what is freed may be reused by later work of its stream.
inline at::Tensor usable(const at::Tensor &tensor) {
    auto &memory = arena(tensor.device().index());
    auto *address = memory.usable_address(tensor.unsafeGetTensorImpl()->mutable_data());
    auto options = tensor.options().device(at::kCPU).requires_grad(false);
    auto view = at::from_blob(address, tensor.sizes(), tensor.strides(), options);
    view._set_conj(tensor.is_conj());
    view._set_neg(tensor.is_neg());
    return view;
}

}  // namespace simulated
