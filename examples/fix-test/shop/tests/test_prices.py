from __future__ import annotations

import unittest

from prices import discount, total


class Prices(unittest.TestCase):
    def test_whole_cents(self) -> None:
        self.assertEqual(discount(1000, 10), 100)

    def test_half_a_cent_is_rounded_up(self) -> None:
        self.assertEqual(discount(1050, 15), 158)

    def test_total(self) -> None:
        self.assertEqual(total([500, 550], 10), 945)


if __name__ == "__main__":
    unittest.main()
