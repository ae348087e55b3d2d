"""The small real project that pictures of Rho are made of: a shop with a price rule and a check."""

from __future__ import annotations

from pathlib import Path

PRICING = '''\
"""Prices of the shop, in cents."""

DISCOUNT = 0.20  # TODO: read it from the settings


def total(prices: list[int], member: bool = False) -> int:
    """What a cart costs; members pay less."""
    amount = sum(prices)
    if member:
        amount -= amount * DISCOUNT
    return amount
'''
RECEIPT = '''\
"""Print the receipt of a cart."""

from pricing import total

CART = {"tea": 450, "cups": 1890, "kettle": 3200}

for name, price in CART.items():
    print(f"{name:<10}{price / 100:>8.2f}")
print(f"{'member':<10}{total(list(CART.values()), member=True) / 100:>8.2f}")
'''
README = """\
# Shop

A cart, a price rule and a receipt. TODO: say how to add a product.
"""
CHECK = """\
printf '\\033[32mok\\033[0m    pricing  3 tests\\n'
printf '\\033[32mok\\033[0m    receipt  1 test\\n'
printf '\\033[31mFAIL\\033[0m  cart     expected 4432, got 4432.0\\n' >&2
exit 1
"""
TESTS = """\
printf '\\033[32mok\\033[0m    pricing  3 tests\\n'
printf '\\033[32mok\\033[0m    receipt  1 test\\n'
printf '\\033[2mcart …\\033[0m\\n'
while [ ! -e stop ]; do sleep 0.05; done
"""

FILES = {
    "README.md": README,
    "check.sh": CHECK,
    "pricing.py": PRICING,
    "receipt.py": RECEIPT,
    "tests.sh": TESTS,
}


def make_shop(folder: Path) -> None:
    """Write the project into a new folder, on the branch `main`."""
    (folder / ".git").mkdir(parents=True)
    (folder / ".git" / "HEAD").write_bytes(b"ref: refs/heads/main\n")
    for name, text in FILES.items():
        (folder / name).write_bytes(text.encode())
