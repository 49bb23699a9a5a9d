"""The matrices of Winograd's F(m x m, 3 x 3), made from points by the rule of Cook and Toom, in exact fractions."""

from dataclasses import dataclass
from fractions import Fraction
from functools import cache

TAPS = 3
HALF = Fraction(1, 2)
# The points beside infinity, in pairs of both signs, which share half of their operations. Large and small ones
# together keep the numbers near 1: 0, ±1, ±2, ±1/2 has less error than 0, ±1, ±2, ±3.
POINTS = {
    2: (0, 1, -1),
    4: (0, 1, -1, 2, -2),
    6: (0, 1, -1, 2, -2, HALF, -HALF),
}
Matrix = tuple[tuple[Fraction, ...], ...]


@dataclass(frozen=True)
class Transforms:
    """y = Aᵀ [(G g Gᵀ) · (Bᵀ d B)] A for a tile d, a filter g and m x m outputs y."""

    input: Matrix  # Bᵀ
    filter: Matrix  # G
    output: Matrix  # A; its transpose makes the outputs


@cache
def transforms(m: int) -> Transforms:
    """The matrices for m x m outputs of a tile of (m + 2) x (m + 2) inputs."""
    points = [Fraction(point) for point in POINTS[m]]
    inputs, filters, outputs = [], [], []
    for point in points:
        others = [other for other in points if other != point]
        norm = Fraction(1)
        for other in others:
            norm *= point - other
        inputs.append([*_product(others), Fraction(0)])
        filters.append([point**power / norm for power in range(TAPS)])
        outputs.append([point**power for power in range(m)])
    inputs.append(_product(points))
    filters.append(_unit(TAPS))
    outputs.append(_unit(m))
    return Transforms(_frozen(inputs), _frozen(filters), _frozen(outputs))


def _product(roots: list[Fraction]) -> list[Fraction]:
    """The coefficients of the polynomial with these roots, the constant one first."""
    coefficients = [Fraction(1)]
    for root in roots:
        shifted = [Fraction(0), *coefficients]
        scaled = [-root * coefficient for coefficient in coefficients]
        scaled.append(Fraction(0))
        coefficients = [a + b for a, b in zip(shifted, scaled, strict=True)]
    return coefficients


def _unit(size: int) -> list[Fraction]:
    """A row for the point at infinity, which sees the highest power alone."""
    return [Fraction(0)] * (size - 1) + [Fraction(1)]


def _frozen(rows: list[list[Fraction]]) -> Matrix:
    return tuple(tuple(row) for row in rows)


def header() -> str:
    """The matrices in C++."""
    parts = [
        "#pragma once",
        "template <int M> struct Matrices;",
    ]
    for m in POINTS:
        matrices = transforms(m)
        parts.append(f"template <> struct Matrices<{m}> {{")
        for name, matrix in (
            ("BT", matrices.input),
            ("G", matrices.filter),
            ("A", matrices.output),
        ):
            parts.append(_struct(name, matrix))
        parts.append("};")
    return "\n".join(parts) + "\n"


def _struct(name: str, matrix: Matrix) -> str:
    rows, columns = len(matrix), len(matrix[0])
    lines = []
    for row in matrix:
        numbers = [f"{value.numerator}.0 / {value.denominator}" for value in row]
        lines.append("{" + ", ".join(numbers) + "}")
    values = ", ".join(lines)
    return (
        f"struct {name} {{ static constexpr int rows = {rows}, columns = {columns}; "
        f"static constexpr double value[{rows}][{columns}] = {{{values}}}; }};"
    )


def operations(matrix: Matrix, transposed: bool = False) -> int:
    """Additions and multiplications of one product with a vector, where rows of both signs share theirs."""
    seconds = _seconds(matrix)
    pairs = [row for row in range(len(matrix)) if row + 1 in seconds]
    if transposed:
        return _transposed_operations(matrix, seconds, pairs)
    count = 0
    for i, row in enumerate(matrix):
        if i in seconds:
            continue
        if i in pairs:
            count += _sum_operations(row[0::2]) + _sum_operations(row[1::2]) + 2
        else:
            count += _sum_operations(row)
    return count


def _transposed_operations(matrix: Matrix, seconds: set[int], pairs: list[int]) -> int:
    count = 2 * len(pairs)  # a sum and a difference
    for j in range(len(matrix[0])):
        terms = [row[j] for i, row in enumerate(matrix) if i not in seconds]
        count += _sum_operations(tuple(terms))
    return count


def _sum_operations(factors: tuple[Fraction, ...]) -> int:
    """A multiplication for each factor but 1, -1 and 0, and the additions between them."""
    terms = [factor for factor in factors if factor]
    multiplications = sum(abs(factor) != 1 for factor in terms)
    return multiplications + max(0, len(terms) - 1)


def _seconds(matrix: Matrix) -> set[int]:
    """The rows that are the row before with the signs of every second column turned."""
    seconds: set[int] = set()
    for i in range(1, len(matrix)):
        first, second = matrix[i - 1], matrix[i]
        even = [a == b for a, b in zip(first[0::2], second[0::2], strict=True)]
        odd = [a == b for a, b in zip(first[1::2], second[1::2], strict=True)]
        even_turned = [a == -b for a, b in zip(first[0::2], second[0::2], strict=True)]
        odd_turned = [a == -b for a, b in zip(first[1::2], second[1::2], strict=True)]
        is_pair = (all(even) and all(odd_turned)) or (all(odd) and all(even_turned))
        is_both = any(first[0::2]) and any(first[1::2])
        if is_pair and is_both and i - 1 not in seconds:
            seconds.add(i)
    return seconds
