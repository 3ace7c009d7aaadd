"""Micro-batches: one call for items that arrive together, and a separate result for each caller."""

import asyncio
from concurrent.futures import Future

import pytest

from antechamber.flows.microbatch import MAX_HELD, MicroBatcher


class Desk:
    """A consumer that takes lists of numbers and answers on request."""

    def __init__(self) -> None:
        self.taken: list[list[int]] = []
        self.futures: list[Future[list[int]]] = []

    def take(self, numbers: list[int]) -> Future[list[int]]:
        """Take a list."""
        if 13 in numbers:
            message = "not this one"
            raise ValueError(message)
        self.taken.append(numbers)
        self.futures.append(Future())
        return self.futures[-1]


async def settled() -> None:
    """Run the event loop until no more progress is possible."""
    for _ in range(5):
        await asyncio.sleep(0)


def test_what_arrives_in_one_turn_is_one_call() -> None:
    """Three items at once form one list, and what comes meanwhile the next; each caller gets its own double."""

    async def work() -> None:
        desk = Desk()
        together = MicroBatcher(desk.take)
        tasks = [asyncio.create_task(together.submit(number)) for number in (1, 2, 3)]
        await settled()
        tasks.append(asyncio.create_task(together.submit(4)))
        await settled()
        assert desk.taken == [[1, 2, 3]]
        desk.futures[0].set_result([2, 4, 6])
        await settled()
        assert desk.taken == [[1, 2, 3], [4]]
        desk.futures[1].set_result([8])
        assert await asyncio.gather(*tasks) == [2, 4, 6, 8]

    asyncio.run(work())


def test_many_items_do_not_wait_for_an_earlier_batch() -> None:
    """A full batch is handed over at once, so that few items wait outside the bounded queue of the consumer."""

    async def work() -> None:
        desk = Desk()
        together = MicroBatcher(desk.take)
        tasks = [asyncio.create_task(together.submit(1000))]
        await settled()
        tasks += [asyncio.create_task(together.submit(1001 + number)) for number in range(MAX_HELD + 1)]
        await settled()
        assert [len(numbers) for numbers in desk.taken] == [1, MAX_HELD]
        desk.futures[1].set_result(desk.taken[1])
        await settled()
        assert len(desk.taken) == 2
        desk.futures[0].set_result(desk.taken[0])
        await settled()
        desk.futures[2].set_result(desk.taken[2])
        assert await asyncio.gather(*tasks) == list(range(1000, 1002 + MAX_HELD))

    asyncio.run(work())


@pytest.mark.parametrize("fails", [False, True])
def test_a_cancelled_caller_does_not_affect_the_others(fails: bool) -> None:  # noqa: FBT001 -- a parameter of the test
    """After a caller was cancelled, the others get their result or the shared failure."""

    async def work() -> None:
        desk = Desk()
        together = MicroBatcher(desk.take)
        gone, stays = (asyncio.create_task(together.submit(number)) for number in (1, 2))
        await settled()
        gone.cancel()
        await settled()
        if fails:
            desk.futures[0].set_exception(ValueError("broken"))
        else:
            desk.futures[0].set_result([10, 20])
        results = await asyncio.gather(gone, stays, return_exceptions=True)
        assert isinstance(results[0], asyncio.CancelledError)
        assert str(results[1]) == ("broken" if fails else "20")

    asyncio.run(work())


def test_an_immediate_failure_reaches_every_caller() -> None:
    """An exception of the consumer reaches every caller of that batch."""

    async def work() -> None:
        together = MicroBatcher(Desk().take)
        results = await asyncio.gather(together.submit(1), together.submit(13), return_exceptions=True)
        assert [str(result) for result in results] == ["not this one"] * 2

    asyncio.run(work())


def test_a_result_that_is_known_at_once_is_delivered_at_once() -> None:
    """A consumer that answers within the call costs no further turn of the event loop."""

    async def work() -> None:
        def answer(numbers: list[int]) -> Future[list[int]]:
            done: Future[list[int]] = Future()
            done.set_result([2 * number for number in numbers])
            return done

        found: list[int | BaseException] = []
        together = MicroBatcher(answer)
        for number in (1, 2):
            together.put(number, found.append)
        await asyncio.sleep(0)
        assert found == [2, 4]

    asyncio.run(work())


@pytest.mark.parametrize("number", [1, 13])
def test_a_receiver_that_fails_does_not_affect_the_others(number: int) -> None:
    """The event loop reports its error, and the next one gets its result, or the error of the consumer."""

    async def work() -> None:
        reported: list[str] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, context: reported.append(str(context["exception"])))
        found: list[int | BaseException] = []

        def fail(_result: int | BaseException) -> None:
            message = "closed"
            raise RuntimeError(message)

        desk = Desk()
        together = MicroBatcher(desk.take)
        together.put(number, fail)
        together.put(2, found.append)
        await settled()
        for future in desk.futures:
            future.set_result([2, 4])
        await settled()
        assert reported == ["closed"]
        assert str(found[0]) == ("4" if number == 1 else "not this one")

    asyncio.run(work())
