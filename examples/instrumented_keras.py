"""A Keras `fit`, on digits, measured in place by a callback. What was added is marked with "d5".

python examples/instrumented_keras.py [FOLDER]
"""

import sys

import keras
from keras import layers
from sklearn.datasets import load_digits

import deep500 as d5  # d5

out = sys.argv[1] if len(sys.argv) > 1 else None
run = d5.instrument("keras fit", seed=0, out=out, better={"accuracy": "higher"})  # d5

digits = load_digits()
images = (digits.images[..., None] / 16).astype("float32")
x_train, x_test = images[:1500], images[1500:]
y_train, y_test = digits.target[:1500], digits.target[1500:]

model = keras.Sequential(
    [
        keras.Input(shape=(8, 8, 1)),
        layers.Conv2D(16, kernel_size=(3, 3), activation="relu"),
        layers.MaxPooling2D(pool_size=(2, 2)),
        layers.Flatten(),
        layers.Dense(10, activation="softmax"),
    ]
)
model.compile(
    loss="sparse_categorical_crossentropy", optimizer="adam", metrics=["accuracy"]
)
model.fit(
    x_train,
    y_train,
    batch_size=64,
    epochs=5,
    verbose=0,
    validation_data=(x_test, y_test),
    callbacks=[run.keras_callback(batch_size=64, examples=len(x_train))],  # d5
)

print(f"d5 show {run.finish().bundle}")  # d5
