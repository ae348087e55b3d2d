"""Which calls of a batch wait for which: pure functions over their plans (D17, D18)."""

from __future__ import annotations

from collections.abc import Sequence

from rho_core.tooling.contract import PreparedToolInvocation, ToolExecutionPolicy


def plan_dependencies(
    plans: Sequence[PreparedToolInvocation | None],
) -> tuple[tuple[int, ...], ...]:
    """For each call in model order, the indices of all earlier calls that it conflicts with.

    None stands for a call that has no plan, because it is unavailable or its preparation failed:
    it blocks nobody. An exclusive call conflicts with every plan, which makes it a barrier.
    """
    return tuple(
        tuple(earlier for earlier in range(index) if _conflict(plans[earlier], plan))
        for index, plan in enumerate(plans)
    )


def _conflict(left: PreparedToolInvocation | None, right: PreparedToolInvocation | None) -> bool:
    if ToolExecutionPolicy.EXCLUSIVE in (_policy(left), _policy(right)):
        return True
    if left is None or right is None:
        return False
    return any(a.conflicts_with(b) for a in left.accesses for b in right.accesses)


def _policy(plan: PreparedToolInvocation | None) -> ToolExecutionPolicy:
    return ToolExecutionPolicy.RESOURCE_AWARE if plan is None else plan.policy
