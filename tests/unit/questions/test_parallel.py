"""How many threads a number of jobs means."""

from __future__ import annotations

import time

import pytest

from treeproof.errors import InputError
from treeproof.questions.parallel import count_jobs, run_chunks


@pytest.mark.parametrize(("n_jobs", "threads"), [(None, 1), (1, 1), (7, 7), (-1, 3), (-2, 2), (-9, 1)])
def test_jobs_are_counted_as_joblib_counts_them(monkeypatch, n_jobs, threads):
    monkeypatch.setenv("LOKY_MAX_CPU_COUNT", "3")  # read by joblib, at most the cores that there are
    monkeypatch.setattr("os.cpu_count", lambda: 8)
    monkeypatch.setattr("os.sched_getaffinity", lambda _: set(range(8)), raising=False)
    assert count_jobs(n_jobs) == threads


@pytest.mark.parametrize("n_jobs", [0, True, 1.5, "2"])
def test_a_number_of_jobs_that_means_nothing_is_refused(n_jobs):
    with pytest.raises(InputError, match="'n_jobs' parameter must be None or a whole number other than 0"):
        count_jobs(n_jobs)


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_what_cannot_be_handed_out_is_an_error_after_all_that_could(n_jobs):
    """joblib asks for the next task in a thread of its own, where an exception would leave us waiting for ever."""

    def part(begin, end):
        if end > 30:
            raise ValueError("a damaged page")
        return begin, end

    done = []
    with pytest.raises(ValueError, match="a damaged page"):
        done.extend(run_chunks(lambda begin, end: (begin, end), part, 1000, n_jobs=n_jobs, shared=True))
    assert [begin for begin, _ in done] == [0, *(end for _, end in done)][: len(done)]
    assert done


@pytest.mark.parametrize("n_jobs", [1, 2])
def test_no_chunk_goes_beyond_a_border(n_jobs):
    def work(begin, end):
        time.sleep(0.002)  # workers that need no time are handed chunks before anything is learnt of the last ones
        return begin, end

    borders = [1, 5, 40, 41, 300]
    found = list(run_chunks(work, lambda *ends: ends, 500, n_jobs=n_jobs, shared=True, borders=borders))
    assert [begin for begin, _ in found] == [0, *(end for _, end in found)][: len(found)]
    assert found[-1][1] == 500
    assert {*borders} <= {end for _, end in found}
    assert max(end - begin for begin, end in found) > 1
