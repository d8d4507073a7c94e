"""The smallest sampler, to measure what a hop costs: it changes one score."""

from lab_plugin import sampler, serve


@sampler(summary="Adds to one score.", source="none")
def touch(scores, row):
    scores[0] += 1
    return scores


@sampler(summary="Returns the row as it came.", source="none")
def echo(scores, row):
    return scores


if __name__ == "__main__":
    serve("touch", version="1", samplers=[touch, echo])
