"""The store of finished work, its leases, and the processes that share it."""
