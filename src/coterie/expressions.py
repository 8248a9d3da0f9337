"""Models and parts as text: the Python expression that makes them, parsed without running any code.

``repr`` of a model or a part is such a text. Commands take it as ``--learner``, and `read_expression` is its inverse.
"""

from __future__ import annotations

import ast
import datetime
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from functools import cached_property
from typing import Any
from uuid import UUID

from coterie import spec
from coterie.types import Estimator, Json, TaskType
from coterie.wording import nearest

_NUMBERS = {"inf": math.inf, "nan": math.nan}
_LABELS: Json = {
    "datetime.date": datetime.date,
    "datetime.datetime": datetime.datetime,
    "Decimal": Decimal,
    "UUID": UUID,
}


class ExpressionError(ValueError):
    r"""Error in an expression for a model or part, with its position in the text.

    Attributes
    ----------
    shown : tuple of str
        The expression, and a line with a caret under the position.

    Examples
    --------
    >>> print(*ExpressionError("unknown name 'Men'", "Men(share=0.5)", 0).shown, sep="\n")
    Men(share=0.5)
    ^
    """

    def __init__(self, message: str, text: str, column: int) -> None:
        super().__init__(message)
        self._text, self._column = text, column
        self.shown = (text, f"{' ' * column}^")

    def in_option(self, option: str) -> ExpressionError:
        """Return this error with the name of a command-line option before the message."""
        return ExpressionError(f"{option}: {self}", self._text, self._column)


def read_expression(text: str) -> Any:
    """Create the model, part or value that a Python expression describes, without executing code.

    The expression consists of constants, tuples, lists, dictionaries, and calls of coterie's estimators and parts by
    name, with arguments by position or by keyword. ``TaskGraph.read("edges.csv")``, and ``read`` of `Clusters`,
    `Hierarchy` and `Interaction`, reads a relation from a file. Nothing else is called, and nothing is evaluated.

    Parameters
    ----------
    text : str
        The expression, such as ``repr(model)``.

    Raises
    ------
    ExpressionError
        If the text has another form, an unknown name, or an invalid parameter.

    Examples
    --------
    >>> read_expression("MultitaskPerceptron(rule=PassiveAggressive(C=0.1))")
    MultitaskPerceptron(rule=PassiveAggressive(C=0.1, variant='I'))
    >>> read_expression("MeanRegularized(shar=0.5)")
    Traceback (most recent call last):
    coterie.expressions.ExpressionError: MeanRegularized has no parameter 'shar'; it has b, share; did you mean 'share'?
    """
    return Expression(text).value()


class Expression:
    """A parsed expression, which can be evaluated repeatedly.

    Parameters
    ----------
    text : str
        The expression, see `read_expression`.
    **names
        Values of further names, such as ``model`` for a saved model that continues.
    """

    def __init__(self, text: str, **names: object) -> None:
        self.text = " ".join(text.splitlines()).strip()
        self._names = names
        try:
            self.tree = ast.parse(self.text, mode="eval").body
        except SyntaxError as error:
            column = min((error.offset or 1) - 1, len(self.text))
            raise ExpressionError(f"not a Python expression: {error.msg}", self.text, column) from None
        except (ValueError, RecursionError, MemoryError) as error:
            raise ExpressionError(f"not a Python expression: {error or 'nested too deeply'}", self.text, 0) from None

    def value(self, task_type: TaskType | None = None) -> Estimator:
        """Evaluate the expression. ``task_type`` is the type of tasks in relation files; for None it is inferred."""
        try:
            return self._value(self.tree, task_type)
        except RecursionError:
            raise ExpressionError("nested too deeply", self.text, 0) from None

    @cached_property
    def files(self) -> list[str]:
        """The names of files in the expression."""
        first = [call.args[0] for call in self._reading() if call.args]
        return [str(argument.value) for argument in first if isinstance(argument, ast.Constant)]

    def _reading(self) -> Iterator[ast.Call]:
        calls = [node for node in ast.walk(self.tree) if isinstance(node, ast.Call)]
        return (call for call in calls if isinstance(call.func, ast.Attribute) and call.func.attr == "read")

    def error(self, message: str, node: ast.AST) -> ExpressionError:
        """Return an error with the position of a syntax node of the expression."""
        offset = getattr(node, "col_offset", 0)
        return ExpressionError(message, self.text, len(self.text.encode()[:offset].decode(errors="ignore")))

    def argument_error(self, error: Exception, node: ast.AST) -> ExpressionError:
        """Return the error of a call, with the position of the argument that its message names."""
        first = str(error).split(" ", 1)[0].rstrip(",:").partition("=")[0]
        keywords = node.keywords if isinstance(node, ast.Call) else []
        return self.error(str(error), next((keyword.value for keyword in keywords if keyword.arg == first), node))

    def _value(self, node: ast.AST, task_type: TaskType | None) -> object:
        match node:
            case ast.Constant(value=value):
                return value
            case ast.Tuple(elts=items):
                return tuple(self._value(item, task_type) for item in items)
            case ast.List(elts=items):
                return [self._value(item, task_type) for item in items]
            case ast.Dict(keys=keys, values=values) if None not in keys:
                pairs = zip([key for key in keys if key is not None], values, strict=True)
                return {self._value(key, task_type): self._value(value, task_type) for key, value in pairs}
            case ast.UnaryOp(op=ast.USub(), operand=ast.Constant() | ast.Name()):
                number = self._value(node.operand, task_type)
                if isinstance(number, bool) or not isinstance(number, (int, float)):
                    raise self.error("expected a number after the minus sign", node)
                return -number
            case ast.Name():
                return self._named(node)
            case ast.Call():
                return self._call(node, task_type)
        raise self.error("expected a value, a list, a dictionary, or a call of an estimator or part", node)

    def _named(self, node: ast.Name) -> object:
        known = _NUMBERS | self._names
        if node.id not in known:
            self._class(node)
            raise self.error(f"{node.id} is a class; write {node.id}(...)", node)
        return known[node.id]

    def _class(self, node: ast.Name) -> type:
        cls = registered_class(node.id)
        if cls is None:
            raise self.error(f"unknown name {node.id!r}{nearest(node.id, class_names())}", node)
        return cls

    def _callable(self, node: ast.expr, task_type: TaskType | None) -> Callable[..., Any]:
        name = ast.get_source_segment(self.text, node) or ""
        if name in _LABELS:
            return _LABELS[name]  # type: ignore[no-any-return]
        if isinstance(node, ast.Name):
            return self._class(node)
        if not (isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and node.attr == "read"):
            raise self.error(f"{name} cannot be called here; only estimators, parts and X.read(file) can", node)
        cls: Any = self._class(node.value)
        if not hasattr(cls, "read"):
            raise self.error(f"{cls.__name__} is not read from a file", node)
        return lambda path, **fields: cls.read(path, task_type=task_type, **fields)

    def _call(self, node: ast.Call, task_type: TaskType | None) -> object:
        if any(isinstance(argument, ast.Starred) for argument in node.args) or None in [k.arg for k in node.keywords]:
            raise self.error("* and ** are not supported", node)
        function = self._callable(node.func, task_type)
        if isinstance(function, type) and function not in _LABELS.values():
            for keyword in node.keywords:
                try:
                    spec.check_parameters(function, [str(keyword.arg)])
                except ValueError as error:
                    raise self.error(str(error), keyword) from None
        arguments = [self._value(argument, task_type) for argument in node.args]
        keywords = {str(keyword.arg): self._value(keyword.value, task_type) for keyword in node.keywords}
        try:
            return function(*arguments, **keywords)
        except ExpressionError:
            raise
        except (TypeError, ValueError, OSError, ArithmeticError) as error:
            raise self.argument_error(error, node) from None


#: The classes of services are saved like estimators, and are not learners.
_SERVICES = "coterie.server."


def registered_class(name: str) -> type | None:
    """Return the public estimator or part with this name; None if there is none."""
    cls = spec.find_class(spec.ESTIMATORS, name) or spec.find_class(spec.PARTS, name)
    return None if cls is None or cls.__module__.startswith(_SERVICES) else cls


def class_names() -> list[str]:
    """Return the names of all public estimators and parts.

    Examples
    --------
    >>> "MeanRegularized" in class_names()
    True
    """
    registered_class("")
    names = (name for name in {**spec.ESTIMATORS, **spec.PARTS} if not name.startswith("_"))
    return sorted(name for name in names if registered_class(name) is not None)


class LearnerExpression:
    """The expression that creates a command's model, once the type of task labels is known.

    Parameters
    ----------
    text : str or None
        The expression; None for the default model.
    regression, many_classes : bool
        The default model: `AdaptiveSharingRegressor`, or `OneVsRest` over `AdaptiveSharingClassifier`.
    model : estimator, optional
        The saved model that the name ``model`` stands for, in ``SelectiveSampling(model, budget=500)``.

    Raises
    ------
    ExpressionError
        If the text is not the expression of an online model, or has invalid parameters.

    Examples
    --------
    >>> LearnerExpression(None).make()
    AdaptiveSharingClassifier()
    >>> LearnerExpression("MultitaskPerceptron(MeanRegularized(share=0.25))").make()
    MultitaskPerceptron(relation=MeanRegularized(share=0.25))
    """

    def __init__(
        self, text: str | None, regression: bool = False, many_classes: bool = False, model: Estimator = None
    ) -> None:
        if regression and many_classes:
            raise ExpressionError("--regression and --many-classes cannot be combined", text or "", 0)
        default = "AdaptiveSharingRegressor()" if regression else "AdaptiveSharingClassifier()"
        self.text = text or (f"OneVsRest({default})" if many_classes else default)
        self._expression = Expression(self.text, **({} if model is None else {"model": model}))
        self.model = self.make()
        self._check(regression, many_classes)

    def _check(self, regression: bool, many_classes: bool) -> None:
        expression, name = self._expression, type(self.model).__name__
        if not (isinstance(self.model, type) or hasattr(self.model, "__stream_model__")):
            hint = "; write MultitaskLogistic(relation=...)" if hasattr(self.model, "form") else ""
            raise expression.error(f"{name} is not an online model{hint}", expression.tree)
        try:
            kind = self.model.__stream_model__().label_encoder
        except (TypeError, ValueError) as error:
            raise expression.argument_error(error, expression.tree) from None
        if regression and not kind.numeric:
            raise expression.error(f"--regression requires a regressor, but {name} is a classifier", expression.tree)
        if many_classes and (kind.numeric or kind.most is not None):
            raise expression.error(
                f"--many-classes requires a multiclass model; write OneVsRest({name}(...))", expression.tree
            )

    @property
    def files(self) -> list[str]:
        """The names of files in the expression."""
        return self._expression.files

    @property
    def is_regression(self) -> bool:
        """True if the labels are numbers."""
        return bool(self.model.__stream_model__().label_encoder.numeric)

    @property
    def asks(self) -> bool:
        """True for selective sampling."""
        return type(self.model).__name__ == "SelectiveSampling"

    @property
    def continued(self) -> str | None:
        """The expression of the query strategy for a saved model; None if this expression is not one."""
        call = self._expression.tree
        if not self.asks or not isinstance(call, ast.Call):
            return None
        keywords = [keyword for keyword in call.keywords if keyword.arg != "model"]
        arguments: list[ast.expr] = [ast.Name("model"), *call.args[1:]]
        return ast.unparse(ast.Call(call.func, arguments, keywords))

    def parameter(self, name: str) -> Any:
        """Return a parameter of the model or of its inner model; None if neither has it."""
        model = self.model
        while not hasattr(model, name) and hasattr(model, "model"):
            model = model.model
        return getattr(model, name, None)

    def make(self, task_type: TaskType | None = None) -> Estimator:
        """Return a new, unfitted model for tasks of this type."""
        return self._expression.value(task_type)


def part_of(role: str, text: str, such: str) -> Any:
    """Create a part from its expression; raise an error unless it is an instance of one of the classes ``such``.

    Examples
    --------
    >>> part_of("by", "Margin(c=0.5)", "Margin(c=0.3)")
    Margin(c=0.5)
    """
    expression = Expression(text)
    part = expression.value()
    try:
        spec.require_part(role, part, such)
    except TypeError as error:
        raise expression.error(str(error), expression.tree) from None
    return part
