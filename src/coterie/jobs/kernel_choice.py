"""Kernel learners chosen by names and numbers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from coterie import online
from coterie.streams.errors import FieldError, places

if TYPE_CHECKING:
    from coterie.jobs.said import Said

KERNELS = ("linear", "polynomial", "gaussian")
#: By name, what `coterie.budgets` calls it.
BUDGETS = {
    "random": "RandomRemoval",
    "forgetron": "Forgetron",
    "projection": "Projection",
    "shared": "SharedProjection",
}
#: What says something of a kernel learner, and is not said without a kernel.
OF_KERNELS = ("sigma", "degree", "budget", "budget_size")


def check(choice: Said) -> None:
    """Refuse what does not go together.

    Raises
    ------
    ValueError
        The message names what.
    """
    said = [name for name in OF_KERNELS if getattr(choice, name) is not None]
    if choice.kernel is None:
        if said:
            raise FieldError(f"{places(said)} cannot be given without a kernel: add {{}}", *said, "kernel")
        return
    for name in ("regression", "half_life"):
        if getattr(choice, name):
            raise FieldError("{} cannot be given with a kernel", name)
    if choice.by != "perceptron" or choice.storage != "auto":
        message = "{} and {} cannot be given with a kernel: it learns by the Perceptron's rule"
        raise FieldError(message, "rule", "storage")
    check_kernel(choice)
    if (choice.budget is None) != (choice.budget_size is None):
        raise FieldError("{} and {} must be given together", "budget", "budget_size")


def check_kernel(choice: Said) -> None:
    """Refuse what is said of another kernel: ValueError."""
    for name, needed in (("sigma", "gaussian"), ("degree", "polynomial")):
        if getattr(choice, name) is not None and choice.kernel != needed:
            message = "{} goes with the kernel {needed!r}, not with {kernel!r}"
            raise FieldError(message, name, needed=needed, kernel=choice.kernel)


def make(choice: Said, relation: Any) -> online.MultitaskKernelPerceptron:
    """The learner, ready for its first record."""
    from coterie import budgets

    budget = None if choice.budget is None else getattr(budgets, BUDGETS[choice.budget])(choice.budget_size)
    return online.MultitaskKernelPerceptron(kernel(choice), relation, budget, dtype=choice.dtype)  # type: ignore[arg-type]


def kernel(choice: Said) -> Any:
    """The kernel that was chosen."""
    from coterie import kernels

    if choice.kernel == "gaussian":
        return kernels.Gaussian(1.0 if choice.sigma is None else choice.sigma)
    if choice.kernel == "polynomial":
        return kernels.Polynomial(2 if choice.degree is None else choice.degree)
    return kernels.Linear()
