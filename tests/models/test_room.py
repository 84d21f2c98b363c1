"""How many requests are under way at once: cut at too much, grown in use."""

from __future__ import annotations

from orchestrator.models.room import Room


def filled(room: Room) -> Room:
    room.taken = room.most
    return room


def rounds_to_grow(room: Room) -> float:
    before, successes = room.most, 0
    while room.most == before:
        filled(room).succeeded()
        successes += 1
    return successes / before


def test_room_is_cut_and_never_below_one() -> None:
    room = Room(500)

    room.cut(6.4)
    assert room.most == 6
    room.cut(9)
    assert room.most == 6
    room.cut(0)
    assert room.most == 1


def test_room_that_is_not_needed_does_not_grow() -> None:
    room = Room(500)
    room.cut(40)

    for _ in range(1000):
        room.succeeded()

    assert room.most == 40


def test_room_grows_by_a_twentieth_for_a_round_of_successes() -> None:
    room = Room(50)
    room.cut(40)
    room.cut(39)

    assert rounds_to_grow(room) == 1
    assert room.most == 40


def test_room_is_quickly_back_where_a_cut_went_too_far() -> None:
    room = Room(200)
    room.cut(2)

    grown = []
    for _ in range(6):
        rounds_to_grow(room)
        grown.append(room.most)

    assert grown == [4, 8, 16, 32, 64, 128]


def test_a_bound_that_is_met_again_is_tried_less_often() -> None:
    room = Room(5)
    rounds = []

    for _ in range(5):
        room.cut(4, is_bound=True)
        rounds.append(rounds_to_grow(room))

    assert rounds == [1, 2, 4, 8, 16]


def test_room_never_passes_its_ceiling() -> None:
    room = Room(5)
    room.cut(1)

    for _ in range(100):
        filled(room).succeeded()

    assert room.most == 5


def test_beyond_a_bound_that_was_met_often_it_grows_as_ever() -> None:
    room = Room(500)
    for _ in range(6):  # just two fit, again and again
        room.cut(2, is_bound=True)
        assert rounds_to_grow(room) >= 1
    assert rounds_to_grow(room) == 1  # a third does by now
    assert rounds_to_grow(room) == 1
