"""How models are reached: the contract and its adapters."""
