"""Exercises of chapter 9: sums over batches."""

from annotated_transformer.teaching.exercises.judge import Exercise


def joint_loss(counts: list[int], means: list[float]) -> float:
    """Every token counts once."""
    tokens = [
        loss for n, loss in zip(counts, means, strict=True) for _ in range(n)
    ]
    return sum(tokens) / len(tokens)


def when_to_step(batches: int, accumulate: int) -> list[int]:
    """Collect batches, and step when there are enough or no more come."""
    steps, waiting = [], 0
    for batch in range(1, batches + 1):
        waiting += 1
        if waiting == accumulate or batch == batches:
            steps.append(batch)
            waiting = 0
    return steps


EXERCISES = [
    Exercise(
        "joint-loss",
        "09_training",
        "write f(counts, means), the mean loss over all tokens of several "
        "batches, from their numbers of tokens and their mean losses.",
        "batches of like and of unlike sizes",
        lambda: [
            ([10, 1000], [5.0, 1.0]),
            ([3, 5, 8], [1.0, 2.5, 0.5]),
            ([4, 4], [1.0, 3.0]),
        ],
        joint_loss,
        {
            "This is the mean of the means: a token of a small batch counts "
            "more than one of a large batch.": (
                lambda n, means: sum(means) / len(means)
            ),
            "This is the sum over all tokens; divide by their number.": (
                lambda n, means: joint_loss(n, means) * sum(n)
            ),
            "The sum over all tokens is divided by the number of batches.": (
                lambda n, means: joint_loss(n, means) * sum(n) / len(n)
            ),
            "This is the sum of the means.": lambda n, means: sum(means),
            "The weights are upside down: the small batch counts most.": (
                lambda n, means: (
                    sum(m / k for k, m in zip(n, means, strict=True))
                    / sum(1 / k for k in n)
                )
            ),
            "Means are divided as if they were sums: multiply each by its "
            "number of tokens first.": lambda n, means: sum(means) / sum(n),
        },
    ),
    Exercise(
        "when-to-step",
        "09_training",
        "write f(batches, accumulate), the list of those batches, counted "
        "from 1, after which the optimizer steps in an epoch. A last, "
        "smaller group makes an update too.",
        "groups that come out even and not",
        lambda: [(7, 3), (6, 3), (2, 4), (5, 1)],
        when_to_step,
        {
            "The first step comes after one batch alone: the counter starts "
            "at 0, and 0 is a multiple of everything.": (
                lambda b, a: list(range(1, b + 1, a))
            ),
            "The batches are counted from 0.": (
                lambda b, a: [i - 1 for i in when_to_step(b, a)]
            ),
            "The last, smaller group is lost, or its gradients leak into the "
            "next epoch.": lambda b, a: list(range(a, b + 1, a)),
            "Nothing is accumulated.": lambda b, a: list(range(1, b + 1)),
            "After the last batch there is a step too many if the groups "
            "come out even.": lambda b, a: [*range(a, b + 1, a), b],
            "The batches are counted from 0, and the first step comes after "
            "one batch alone.": lambda b, a: list(range(0, b, a)),
        },
    ),
]
