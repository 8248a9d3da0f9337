"""All that a model is, so that two can be compared, and what becomes of one in a file."""

import pickle

import coterie as ct


def digest(model):
    """What a model would keep in a file, its parameters with it, as text and bytes."""
    data, arrays = model.__dump__()
    parameters = model.get_params() if hasattr(model, "get_params") else {}
    return repr((parameters, data)), {name: (a.dtype.str, a.shape, a.tobytes()) for name, a in arrays.items()}


def content(model, path):
    """The bytes of a model's file."""
    model.save(path)
    return path.read_bytes()


def reloaded(model, path):
    """The model that its file gives back."""
    model.save(path)
    return ct.load(path)


def unpickled(model):
    """A copy out of a pickle whose arrays are read-only, as in shared memory (Ray) and mapped files (joblib)."""
    buffers = []
    data = pickle.dumps(model, protocol=5, buffer_callback=buffers.append)
    return pickle.loads(data, buffers=[bytes(buffer.raw()) for buffer in buffers])  # noqa: S301


def weights(model):
    """The weights of a model as an array, also where they are sparse."""
    return dense(model.coef_)


def dense(weights):
    """Weights as an array, those of hashed names too."""
    return weights.toarray() if hasattr(weights, "toarray") else weights
