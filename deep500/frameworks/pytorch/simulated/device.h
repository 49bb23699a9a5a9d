// What PyTorch asks of a device: devices, streams, events, waits, generators, memory.
#pragma once
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/detail/PrivateUse1HooksInterface.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>

#include "pinned.h"

namespace simulated {

inline c10::Device device_of_index(int index) { return {TYPE, c10::DeviceIndex(index)}; }
inline int index_of(c10::Device device) { return device.has_index() ? device.index() : current_device; }
inline EventMark &mark(void *event) { return **static_cast<Event *>(event); }

struct Guard final : c10::impl::DeviceGuardImplInterface {
    c10::DeviceType type() const override { return TYPE; }
    c10::Device exchangeDevice(c10::Device device) const override {
        return device_of_index(std::exchange(current_device, index_of(device)));
    }
    c10::Device getDevice() const override { return device_of_index(current_device); }
    void setDevice(c10::Device device) const override { current_device = index_of(device); }
    void uncheckedSetDevice(c10::Device device) const noexcept override { current_device = index_of(device); }
    c10::DeviceIndex deviceCount() const noexcept override { return DEVICES; }

    static c10::Stream stream(c10::Device device, int64_t number) {
        return c10::Stream(c10::Stream::UNSAFE, device_of_index(index_of(device)), number);
    }
    static StreamQueue &queue(const c10::Stream &stream) { return stream_queue(stream.device_index(), stream.id()); }
    c10::Stream getStream(c10::Device device) const override {
        return stream(device, current_streams[index_of(device)]);
    }
    c10::Stream getDefaultStream(c10::Device device) const override { return stream(device, 0); }
    c10::Stream getNewStream(c10::Device device, int) const override {
        static std::atomic<int64_t> next{0};
        return stream(device, 1 + next++ % (STREAMS - 1));
    }
    c10::Stream getStreamFromGlobalPool(c10::Device device, bool) const override { return getNewStream(device, 0); }
    c10::Stream exchangeStream(c10::Stream to) const override {
        return stream(to.device(), std::exchange(current_streams[to.device_index()], to.id()));
    }
    void *getStreamNativeHandle(const c10::Stream of) const override { return &queue(of); }

    void record(void **event, const c10::Stream &on, const c10::DeviceIndex, const c10::EventFlag) const override {
        if (!*event)
            *event = new Event(std::make_shared<EventMark>());
        auto shared = *static_cast<Event *>(*event);
        queue(on).push([shared, version = shared->next_version()] { shared->reach(version); });
    }
    void block(void *event, const c10::Stream &on) const override {
        auto shared = *static_cast<Event *>(event);
        queue(on).push([shared, version = shared->version()] { shared->wait(version); });
    }
    bool queryEvent(void *event) const override { return !event || mark(event).done(); }
    void synchronizeEvent(void *event) const override {
        waits.add("Event.synchronize");
        mark(event).wait(mark(event).version());
    }
    void destroyEvent(void *event, const c10::DeviceIndex) const noexcept override {
        delete static_cast<Event *>(event);
    }
    double elapsedTime(void *first, void *second, const c10::DeviceIndex) const override {
        TORCH_CHECK(queryEvent(first) && queryEvent(second), "both events must have been reached");
        return std::chrono::duration<double, std::milli>(mark(second).at() - mark(first).at()).count();
    }
    bool queryStream(const c10::Stream &of) const override { return queue(of).idle(); }
    void synchronizeStream(const c10::Stream &of) const override {
        waits.add("Stream.synchronize");
        queue(of).wait();
    }
    void synchronizeDevice(const c10::DeviceIndex device) const override {
        waits.add("synchronize");
        queues_of(device).wait();
    }
};

struct Hooks final : at::PrivateUse1HooksInterface {
    bool isBuilt() const override { return true; }
    bool isAvailable() const override { return true; }
    bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
    c10::DeviceIndex deviceCount() const override { return DEVICES; }
    c10::DeviceIndex getCurrentDevice() const override { return c10::DeviceIndex(current_device); }
    void setCurrentDevice(c10::DeviceIndex device) const override { current_device = device; }
    c10::DeviceIndex exchangeDevice(c10::DeviceIndex device) const override {
        return c10::DeviceIndex(std::exchange(current_device, int(device)));
    }
    c10::DeviceIndex maybeExchangeDevice(c10::DeviceIndex device) const override { return exchangeDevice(device); }
    at::Device getDeviceFromPtr(void *address) const override {
        for (int device = 0; device < DEVICES; ++device)
            if (arena(device).holds(address))
                return device_of_index(device);
        TORCH_CHECK(false, "this is no address of the simulated device");
    }
    // Draws come from the CPU's generator, so that a seed gives the same numbers there.
    const at::Generator &getDefaultGenerator(c10::DeviceIndex) const override {
        return at::globalContext().defaultGenerator(at::kCPU);
    }
    at::Generator getNewGenerator(c10::DeviceIndex) const override {
        return at::make_generator<at::CPUGeneratorImpl>();
    }
    at::Allocator *getPinnedMemoryAllocator() const override { return &pinned_allocator; }
    bool isPinnedPtr(const void *address) const override { return pinned_allocator.holds(address); }
    void resizePrivateUse1Bytes(const c10::Storage &storage, size_t size) const override {
        int device = storage.device().index();
        auto &memory = arena(device);
        auto data = allocator.allocate(size);
        auto *from = memory.usable_address(storage.mutable_data());
        auto *to = memory.usable_address(data.get());
        if (auto kept = std::min(size, storage.nbytes()))
            launch(device, [=] { std::memcpy(to, from, kept); });
        storage.set_data_ptr_noswap(std::move(data));
        storage.unsafeGetStorageImpl()->set_nbytes(size);
    }
};

}  // namespace simulated
