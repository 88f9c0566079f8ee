"""Ctrl-C and SIGTERM: held back during a step, raised after it, and never lost on the way."""

import ctypes
import signal
import time

import pytest
from llvmlite.binding import ffi

from directrank.apps.cli.failures import INTERRUPTED, ended
from directrank.apps.experiments.run import interrupts
from directrank.apps.experiments.run.interrupts import uninterrupted

pytestmark = pytest.mark.parametrize("number", interrupts.SIGNALS)


class Stopped(BaseException):
    """What a handler of this test raises."""


@pytest.fixture(autouse=True)
def handlers():
    """Have Python's own handlers, as where nothing else was asked for, and put back what was there."""
    before = {each: signal.getsignal(each) for each in interrupts.SIGNALS}
    # Tests that run in the background may have been started to ignore it.
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    for each, handler in before.items():
        signal.signal(each, handler)


def stop(*_):
    raise Stopped


def test_an_interrupt_waits_for_the_end_of_a_step(number):
    steps = []

    @uninterrupted()
    def step():
        signal.raise_signal(number)
        signal.raise_signal(number)
        steps.append("done")

    signal.signal(number, stop)
    with pytest.raises(Stopped):
        step()
    assert steps == ["done"]
    assert signal.getsignal(number) is stop


@pytest.mark.parametrize("at", [0, 1, 2, 3])
def test_an_interrupt_between_two_handlers_is_not_lost(number, at, monkeypatch):
    """While they are taken, and while they are put back; afterwards the old ones do what they did."""
    true_signal, calls = signal.signal, []

    def with_interrupt(each, handler):
        before = true_signal(each, handler)
        calls.append(each)
        if len(calls) == at + 1:
            signal.raise_signal(number)
        return before

    for each in interrupts.SIGNALS:
        true_signal(each, stop)
    monkeypatch.setattr(interrupts.signal, "signal", with_interrupt)
    with pytest.raises(Stopped), uninterrupted():
        pass
    monkeypatch.undo()
    for each in interrupts.SIGNALS:
        with pytest.raises(Stopped):
            signal.raise_signal(each)


def test_an_interrupt_while_the_compiler_calls_back_is_not_lost(number):
    """C prints what is raised there, and forgets it."""
    place = {"__name__": ffi.__name__, "raise_signal": signal.raise_signal}
    exec(f"def notify():\n    raise_signal({int(number)})\n    done.append(1)", place)
    done = place["done"] = []

    def command():
        ctypes.CFUNCTYPE(None)(place["notify"])()
        time.sleep(60)

    assert ended(command, debug=False) == INTERRUPTED
    assert done
