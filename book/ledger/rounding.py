"""What a page prints of a number that only rounding keeps from zero."""


def below(bound: float, number: float) -> str:
    """`below 1e-12`, or the number where it is not.

    The digits of a rounding error are those of one processor. What is meant
    is that there is nothing else.
    """
    if abs(number) < bound:
        return f"below {bound:.0e}"
    return f"{number:.2g}"
