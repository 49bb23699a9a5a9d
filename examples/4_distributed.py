"""Level 3: does a communication scheme pay? Three schemes on eight virtual ranks, on a fast and on a slow network."""

import deep500 as d5

recipe = d5.Recipe(
    "digits on many ranks",
    {"model": d5.networks.Mlp(hidden=(32,)), "dataset": "digits", "epochs": 3},
    {"batch_size": 64, "executor": "reference", "optimizer": d5.optimizers.SGD(0.1)},
    [(d5.TestAccuracy(), None)],
)
schemes = {
    "average gradients": d5.schemes.AllReduce(),
    "the largest 1 % of them": d5.schemes.AllReduce(codec=d5.codecs.TopK(0.01)),
    "average every 8 steps": d5.schemes.LocalSGD(period=8),
}
networks = {
    "InfiniBand": d5.LogGP(L=2e-6, o=1e-6, g=1e-6, G=1e-10),
    "Ethernet, 1 Gbit/s": d5.LogGP(L=50e-6, o=10e-6, g=10e-6, G=8e-9),
}

for network_name, network in networks.items():
    print(network_name)
    for name, scheme in schemes.items():
        run = d5.simulate(
            scheme, recipe, 8, network, compute=1e-5, update=1e-5, epochs=3
        )
        assert run.history is not None
        accuracy = run.history.final("test", "accuracy")
        print(
            f"  {name:24} {accuracy:5.1f} % after {1e3 * run.seconds:6.1f} ms of virtual time, "
            f"{run.bytes[0] / 1e3:7.1f} kB sent by a rank"
        )
