"""The engine in Python, which says in plain words what _engine.cpp computes: both give the same nanoseconds."""

import heapq
from dataclasses import dataclass, field

import numpy as np

from .disturbances import Disturbances
from .network import ClusterNetwork
from .outcome import (
    BYTES,
    CIRCLE,
    DIED,
    FINISHED,
    LEFT_OVER,
    NOISE,
    NOT_RECEIVED,
    OVERHEAD,
    UNMATCHED,
    WORK,
    BlockedRanks,
    SimulatedRun,
)
from .reference_noise import HostNoise, noise_of_hosts
from .schedule import ANY, RECV, SEND, MessageSchedule, Operation

Key = tuple[int, int]  # rank, and number of the operation


@dataclass
class ReferenceHost:
    """A rank: when its processors and cards are free, and the queues in which messages meet receives."""

    operations: list[Operation]
    dependants: list[list[tuple[int, bool]]]
    waits: list[int]
    ready: list[int]
    cpu: list[int]
    sender: list[int]
    receiver: list[int]
    posted: list[int] = field(default_factory=list)
    unexpected: list[tuple[Key, int]] = field(default_factory=list)
    done: int = 0


class ReferenceEngine:
    """Events in the order of their time, then of their serial numbers."""

    def __init__(
        self,
        schedule: MessageSchedule,
        network: ClusterNetwork,
        disturbances: Disturbances | None = None,
        seed: int = 0,
    ):
        disturbances = disturbances or Disturbances()
        size = schedule.size
        self.network = network
        self.speeds = disturbances.speeds(size, seed)
        self.deaths = disturbances.deaths(size)
        self.noise: list[HostNoise] = noise_of_hosts(disturbances.noise, seed, size)
        self.spent = np.zeros((size, 4), np.int64)
        self.queue: list[tuple[int, int, int, Key, bool]] = []
        self.serial = 0
        self.now = 0
        self.freed: list[Key] = []
        self.hosts: list[ReferenceHost] = []
        for rank in range(size):
            operations = list(schedule.operations(rank))
            waits = [len(one.after) + len(one.behind) for one in operations]
            ready = [0] * len(operations)
            cards = [0] * schedule.nics
            cpus = [0] * schedule.cpus
            dependants = schedule.dependants(rank)
            host = ReferenceHost(
                operations, dependants, waits, ready, cpus, cards, list(cards)
            )
            self.hosts.append(host)
        self.first_node = schedule.ranks["node"]

    def run(self) -> SimulatedRun:
        for rank, host in enumerate(self.hosts):
            for number, waits in enumerate(host.waits):
                if not waits:
                    self.freed.append((rank, number))
            self.release()
        while self.queue:
            self.now, serial, rank, key, is_message = heapq.heappop(self.queue)
            if self.is_alive(rank):
                self.handle(serial, rank, key, is_message)
            self.release()
        finish = np.array([max(host.cpu) for host in self.hosts], np.int64)
        return SimulatedRun(finish, self.spent, self.serial, None, self.blocked())

    def is_alive(self, rank: int) -> bool:
        return self.deaths is None or not 0 <= self.deaths[rank] <= self.now

    def handle(self, serial: int, rank: int, key: Key, is_message: bool) -> None:
        operation = self.operation(key)
        if is_message:
            available = self.message(rank, key, operation)
        elif operation.kind == SEND:
            available = self.send(key, operation)
        elif operation.kind == RECV:
            available = self.receive(key, operation)
        else:
            available = self.calculate(key, operation)
        if available > self.now:
            heapq.heappush(self.queue, (available, serial, rank, key, is_message))

    def operation(self, key: Key) -> Operation:
        rank, number = key
        return self.hosts[rank].operations[number]

    # Each of these returns when it can be carried out: a later time if that is not now.

    def calculate(self, key: Key, operation: Operation) -> int:
        rank, _ = key
        host = self.hosts[rank]
        if host.cpu[operation.cpu] > self.now:
            return host.cpu[operation.cpu]
        work = operation.size
        if self.speeds is not None:
            work = int(work * float(self.speeds[rank]) + 0.5)
        end = self.work(rank, WORK, work)
        host.cpu[operation.cpu] = end
        self.began(key)
        self.ended(key, end)
        return self.now

    def send(self, key: Key, operation: Operation) -> int:
        rank, _ = key
        host = self.hosts[rank]
        available = max(host.cpu[operation.cpu], host.sender[operation.nic])
        if available > self.now:
            return available
        self.began(key)
        level = self.network.level(rank, operation.peer)
        left = self.work(rank, OVERHEAD, level.o)
        end = max(self.now, left + level.send_charge(operation.size))
        self.spent[rank, OVERHEAD] += end - left
        host.cpu[operation.cpu] = end
        busy = level.g + level.stream(operation.size)
        host.sender[operation.nic] = max(self.now, self.now + busy)
        self.push(left + level.L, operation.peer, key, True)
        if operation.size <= level.S:
            self.ended(key, end)
        return self.now

    def receive(self, key: Key, operation: Operation) -> int:
        rank, number = key
        host = self.hosts[rank]
        self.began(key)
        for place, (sent, finish) in enumerate(host.unexpected):
            if _matches(operation, sent[0], self.operation(sent).tag):
                del host.unexpected[place]
                self.met(rank, sent)
                self.ended(key, max(self.now, finish))
                return self.now
        host.posted.append(number)
        return self.now

    def message(self, rank: int, sent: Key, operation: Operation) -> int:
        host = self.hosts[rank]
        available = max(host.cpu[operation.cpu], host.receiver[operation.nic])
        if available > self.now:
            return available
        source, _ = sent
        level = self.network.level(source, rank)
        taken = self.work(rank, OVERHEAD, level.o)
        end = max(self.now, taken + level.receive_charge(operation.size))
        self.spent[rank, BYTES] += end - taken
        host.cpu[operation.cpu] = end
        busy = level.g + level.stream(operation.size)
        host.receiver[operation.nic] = max(self.now, self.now + busy)
        for place, number in enumerate(host.posted):
            if _matches(host.operations[number], source, operation.tag):
                del host.posted[place]
                self.met(rank, sent)
                self.ended((rank, number), end)
                return self.now
        host.unexpected.append((sent, end))
        return self.now

    def met(self, rank: int, sent: Key) -> None:
        """A message has met its receive: its sender may go on now, if it has waited for that."""
        source, _ = sent
        operation = self.operation(sent)
        if operation.size <= self.network.level(source, rank).S:
            return
        host = self.hosts[source]
        host.cpu[operation.cpu] = max(host.cpu[operation.cpu], self.now)
        host.sender[operation.nic] = max(host.sender[operation.nic], self.now)
        self.ended(sent, self.now)

    def work(self, rank: int, what: int, nanoseconds: int) -> int:
        """When so much work that begins now ends."""
        end = self.noise[rank].end_of(self.now, nanoseconds)
        self.spent[rank, what] += nanoseconds
        self.spent[rank, NOISE] += end - self.now - nanoseconds
        return end

    # What waits for what

    def began(self, key: Key) -> None:
        self._free_dependants(key, self.now, at_start=True)

    def ended(self, key: Key, time: int) -> None:
        self.hosts[key[0]].done += 1
        self._free_dependants(key, time, at_start=False)

    def _free_dependants(self, key: Key, time: int, at_start: bool) -> None:
        rank, number = key
        for other, waits_for_start in self.hosts[rank].dependants[number]:
            if waits_for_start == at_start:
                self.free(rank, other, time)

    def free(self, rank: int, number: int, time: int) -> None:
        host = self.hosts[rank]
        host.ready[number] = max(host.ready[number], time)
        host.waits[number] -= 1
        if not host.waits[number]:
            self.freed.append((rank, number))

    def release(self) -> None:
        """What has become free goes into the queue, host by host, sends first and work last."""
        for key in sorted(self.freed, key=lambda k: (k[0], self.operation(k).kind)):
            rank, number = key
            host, operation = self.hosts[rank], self.operation(key)
            time = max(self.now, host.cpu[operation.cpu], host.ready[number])
            if operation.kind == SEND:
                time = max(time, host.sender[operation.nic])
            self.push(time, rank, key, False)
        self.freed.clear()

    def push(self, time: int, rank: int, key: Key, is_message: bool) -> None:
        heapq.heappush(self.queue, (time, self.serial, rank, key, is_message))
        self.serial += 1

    # The end

    def blocked(self) -> BlockedRanks | None:
        """Why ranks have not finished: the reasons of engine_blocked in _engine.cpp."""
        reasons = [FINISHED] * len(self.hosts)
        numbers = [0] * len(self.hosts)
        for rank, host in enumerate(self.hosts):
            if host.done < len(host.operations):
                reasons[rank] = CIRCLE
                numbers[rank] = next((n for n, w in enumerate(host.waits) if w), 0)
        for rank, host in enumerate(self.hosts):
            if not host.unexpected:
                continue
            (source, number), _ = host.unexpected[0]
            nbytes = self.hosts[source].operations[number].size
            meets = nbytes > self.network.level(source, rank).S
            if meets or reasons[source] == FINISHED:
                reasons[source] = NOT_RECEIVED if meets else LEFT_OVER
                numbers[source] = number
        for rank, host in enumerate(self.hosts):
            if host.posted:
                reasons[rank], numbers[rank] = UNMATCHED, host.posted[0]
            if reasons[rank] and self.deaths is not None and self.deaths[rank] >= 0:
                reasons[rank] = DIED
        if not any(reasons):
            return None
        nodes = np.where(reasons, self.first_node + np.array(numbers), 0)
        return BlockedRanks(np.array(reasons, np.uint8), nodes.astype(np.uint32))


def _matches(receive: Operation, source: int, tag: int) -> bool:
    return receive.peer in (ANY, source) and receive.tag in (ANY, tag)
