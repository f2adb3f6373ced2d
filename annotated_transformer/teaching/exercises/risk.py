"""Exercises of the lab on risk: what moves a probability; a sharper risk."""

import math

from annotated_transformer.teaching.exercises.judge import Exercise


def shares(log_p: list[float], power: float = 1.0) -> list[float]:
    """The probability of each candidate among all of them."""
    powers = [math.exp(power * one) for one in log_p]
    return [one / sum(powers) for one in powers]


def expected(
    log_p: list[float], errors: list[float], power: float = 1.0
) -> float:
    """The error to expect."""
    pairs = zip(shares(log_p, power), errors, strict=True)
    return sum(q * error for q, error in pairs)


def pull(log_p: list[float], errors: list[float]) -> tuple[float, ...]:
    """The derivative of the risk by each log-probability."""
    middle = expected(log_p, errors)
    pairs = zip(shares(log_p), errors, strict=True)
    return tuple(q * (error - middle) for q, error in pairs)


def lists() -> list[tuple[list[float], list[float]]]:
    """Two, three and five candidates; log-probabilities sum to anything."""
    return [
        ([math.log(0.25), math.log(0.5)], [0.0, 0.75]),
        ([-1.0, -2.5, -3.0], [0.5, 0.0, 1.0]),
        ([-4.0, -4.5, -3.5, -7.0, -5.0], [0.25, 0.5, 0.125, 1.0, 0.0]),
    ]


def plain_mean(log_p: list[float], errors: list[float]) -> list[float]:
    """Compared with the mean over a list, not with what is expected."""
    middle = sum(errors) / len(errors)
    pairs = zip(shares(log_p), errors, strict=True)
    return [q * (error - middle) for q, error in pairs]


EXERCISES = [
    Exercise(
        "risk-gradient",
        "risk",
        "write f(log_p, errors), the derivative of a sentence's risk by the "
        "log-probability of each candidate; lists of numbers, the same for "
        "the answer.",
        "two, three and five candidates",
        lists,
        pull,
        {
            "The signs are turned: this is the way down.": (
                lambda log_p, errors: [-one for one in pull(log_p, errors)]
            ),
            "Errors are compared with their mean over the list. A candidate "
            "that the model hardly believes in counts as much there as its "
            "first.": plain_mean,
            "Nothing is subtracted. If one candidate gains, others must lose, "
            "so the answer sums to zero.": lambda log_p, errors: [
                q * e for q, e in zip(shares(log_p), errors, strict=True)
            ],
            "The probability of the candidate is missing in front.": (
                lambda log_p, errors: [
                    error - expected(log_p, errors) for error in errors
                ]
            ),
            "The probabilities are those of all outputs, and do not sum to "
            "one over the list.": lambda log_p, errors: [
                math.exp(one)
                * (
                    error
                    - sum(
                        math.exp(a) * b
                        for a, b in zip(log_p, errors, strict=True)
                    )
                )
                for one, error in zip(log_p, errors, strict=True)
            ],
        },
    ),
    Exercise(
        "sharp-risk",
        "risk",
        "write f(log_p, errors, power), the risk if q(u) is proportional to "
        "p(u) to the given power.",
        "powers of a half, one, two and ten",
        lambda: [
            (*lists()[0], 2.0),
            (*lists()[0], 1.0),
            (*lists()[1], 0.5),
            (*lists()[2], 10.0),
        ],
        expected,
        {
            "The power is left out.": (
                lambda log_p, errors, power: expected(log_p, errors)
            ),
            "A power of p is a multiple of log p, not a fraction of it.": (
                lambda log_p, errors, power: expected(log_p, errors, 1 / power)
            ),
            "After the power the probabilities must be made to sum to one "
            "again.": lambda log_p, errors, power: sum(
                q**power * error
                for q, error in zip(shares(log_p), errors, strict=True)
            ),
            "The errors are raised to the power. What is sharpened is the "
            "belief.": lambda log_p, errors, power: expected(
                log_p, [error**power for error in errors]
            ),
            "This is a multiple of the risk.": (
                lambda log_p, errors, power: power * expected(log_p, errors)
            ),
        },
    ),
]
