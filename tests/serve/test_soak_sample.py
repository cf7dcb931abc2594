"""A few seconds of the long mix of requests that `make test-hard` runs for ten minutes."""

from hard.test_soak import soak


def test_a_few_seconds_of_mixed_requests_are_answered_and_change_no_score(tmp_path):
    soak(tmp_path, 4, growth=None)
