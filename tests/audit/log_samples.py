"""A log of every format, as the tool writes it, cut down."""

import json

NCCL = """\
# nThread 1 nGpus 2 minBytes 8 maxBytes 16 step: 2(factor) warmup iters: 5 iters: 20 agg iters: 1 validation: 1 graph: 0
#
# Using devices
#  Rank  0 Group  0 Pid  77 on      host device  0 [0x0f] NVIDIA A100-SXM4-40GB
#  Rank  1 Group  0 Pid  77 on      host device  1 [0x47] NVIDIA A100-SXM4-40GB
#
#                                                              out-of-place                       in-place
#       size         count      type   redop    root     time   algbw   busbw #wrong     time   algbw   busbw #wrong
#        (B)    (elements)                               (us)  (GB/s)  (GB/s)            (us)  (GB/s)  (GB/s)
           8             2     float     sum      -1    13.78    0.00    0.00      0    13.70    0.00    0.00      0
          16             4     float     sum      -1    14.02    0.00    0.00      0    13.88    0.00    0.00    N/A
# Out of bounds values : 0 OK
# Avg bus bandwidth    : 0.00171
#
"""

IMB = """\
# Benchmarking Allreduce
# #processes = 2
#----------------------------------------------------------------
       #bytes #repetitions  t_min[usec]  t_max[usec]  t_avg[usec]
            0         1000         0.08         0.09         0.08
      4194304           10      1574.11      5625.20      3120.44
"""


def event(key: str, time_ms: int, value: object = None, **metadata: object) -> str:
    document = {
        "namespace": "",
        "time_ms": time_ms,
        "event_type": "POINT_IN_TIME",
        "key": key,
        "value": value,
        "metadata": {"file": "train.py", "lineno": 7, **metadata},
    }
    return f"0: :::MLLOG {json.dumps(document)}"


MLPERF = "\n".join(
    [
        "starting",
        event("submission_benchmark", 5, "resnet"),
        event("global_batch_size", 6, 4096),
        event("seed", 10, 4711),
        event("run_start", 1000),
        event("eval_accuracy", 50_000, 0.71, epoch_num=1),
        event("eval_accuracy", 90_000, 0.76, epoch_num=2),
        event("run_stop", 91_000, None, status="success"),
    ]
)

RCP = {
    "resnet_ref_4096": {
        "Benchmark": "resnet",
        "Creator": "somebody",
        "BS": 4096,
        "Hyperparams": {"opt_name": "lars"},
        "Epochs to converge": [41, 40, 42, 41, 40, 41, 42, 41, 40, 42],
    }
}

PYPERF = {
    "version": "1.0",
    "metadata": {
        "name": "sum",
        "unit": "second",
        "loops": 1024,
        "cpu_model_name": "AMD EPYC",
        "cpu_count": 2,
        "load_avg_1min": 1.5,
        "platform": "Linux-6.1",
        "python_version": "3.11.7",
        "timer": "clock_gettime(CLOCK_MONOTONIC)",
    },
    "benchmarks": [
        {
            "runs": [
                {"metadata": {"calibrate_loops": 1024}, "warmups": [[1, 1e-6]]},
                {"values": [1.01e-6, 1.02e-6, 1.00e-6]},
                {"values": [1.05e-6, 1.01e-6, 1.03e-6]},
            ]
        }
    ],
}

PYTEST = {
    "machine_info": {
        "cpu": {"brand_raw": "AMD EPYC"},
        "system": "Linux",
        "release": "6.1",
        "python_version": "3.11.7",
        "python_compiler": "GCC 12.2.0",
    },
    "commit_info": {"id": "1a2b3c4"},
    "benchmarks": [
        {
            "group": None,
            "name": "test_sum",
            "fullname": "test_it.py::test_sum",
            "params": None,
            "stats": {
                "min": 1.0e-6,
                "max": 9e-6,
                "mean": 1.2e-6,
                "stddev": 3e-7,
                "median": 1.1e-6,
                "rounds": 1000,
                "iterations": 10,
                "outliers": "2;3",
            },
        }
    ],
    "datetime": "2026-11-01T00:00:00",
    "version": "5.1.0",
}

HYPERFINE = {
    "results": [
        {
            "command": "sleep 0.01",
            "mean": 0.0113,
            "stddev": 0.0002,
            "median": 0.0112,
            "user": 0.0004,
            "system": 0.0007,
            "min": 0.011,
            "max": 0.012,
            "times": [0.0112, 0.0113, 0.0114],
            "exit_codes": [0, 1, 0],
        }
    ]
}

GOOGLE = {
    "context": {
        "date": "2026-11-01",
        "executable": "./bench",
        "num_cpus": 2,
        "mhz_per_cpu": 2400,
        "cpu_scaling_enabled": True,
        "caches": [],
        "load_avg": [1.6, 1.2, 1.0],
        "library_build_type": "debug",
    },
    "benchmarks": [
        {
            "name": "BM_Sum/8",
            "run_name": "BM_Sum/8",
            "run_type": "iteration",
            "repetitions": 1,
            "iterations": 1000,
            "real_time": 12.5,
            "cpu_time": 12.4,
            "time_unit": "ns",
        },
        {
            "name": "BM_Sum/8_stddev",
            "run_type": "aggregate",
            "aggregate_name": "stddev",
            "repetitions": 3,
            "real_time": 0.5,
            "time_unit": "ns",
        },
    ],
}

ASV = {
    "commit_hash": "1a2b3c4d",
    "env_name": "virtualenv-py3.11",
    "date": 1700000000000,
    "params": {"cpu": "AMD EPYC", "ram": "16 GB", "os": "Linux 6.1", "python": "3.11"},
    "result_columns": [
        "result",
        "params",
        "version",
        "started_at",
        "duration",
        "stats_ci_99_a",
        "stats_ci_99_b",
        "stats_q_25",
        "stats_q_75",
        "stats_number",
        "stats_repeat",
    ],
    "results": {
        "suite.time_sum": [
            [1.2e-6, 2.4e-6],
            [["8", "16"]],
            "v1",
            1700000000000,
            1.2,
            [1.1e-6, 2.3e-6],
            [1.3e-6, 2.5e-6],
            [1.15e-6, 2.35e-6],
            [1.25e-6, 2.45e-6],
            [1000, 500],
            [10, 10],
        ],
        "suite.track_failed": [None, [], "v1", None, None],
    },
    "version": 2,
}

TORCH = [
    {
        "number_per_run": 100,
        "raw_times": [0.001, 0.0011, 0.0012],
        "task_spec": {"stmt": "x @ y", "label": "matmul", "num_threads": 1},
    }
]

CURVE = "Wall time,Step,Value\n1700000000.1,0,0.31\n1700000009.4,10,0.77\n"

LOGS: dict[str, str] = {
    "nccl.txt": NCCL,
    "imb.txt": IMB,
    "mlperf.log": MLPERF,
    "rcps.json": json.dumps(RCP),
    "pyperf.json": json.dumps(PYPERF),
    "pytest.json": json.dumps(PYTEST),
    "hyperfine.json": json.dumps(HYPERFINE),
    "google.json": json.dumps(GOOGLE),
    "asv.json": json.dumps(ASV),
    "torch.json": json.dumps(TORCH),
    "accuracy.csv": CURVE,
}
