"""The contracts of logs and stores as suites that any store can run.

Under pytest, subclass them and say how a new, empty store and a log with these bytes are made::

    from branchline.stores.conformance import LogContract, StoreContract


    class TestMyStore(StoreContract):
        def make_store(self):
            return MyStore()


    class TestMyLog(LogContract):
        def make_log(self, data, **options):
            store = MyStore(**options)
            store.load("log", [data])
            return store.open("log")

For a store with drafts, a trash, or whole logs that are loaded, subclass :class:`DraftContract`,
:class:`TrashContract` or :class:`LoadContract`, or several. Run both kinds: a store can pass its own contract
and still glue a torn line to the next record. Every test takes a fresh store and needs nothing but plain
assertions, so that the methods can be called without pytest too.
"""

from branchline.stores.conformance.log import LogContract
from branchline.stores.conformance.store import DraftContract, LoadContract, StoreContract, TrashContract

__all__ = ["DraftContract", "LoadContract", "LogContract", "StoreContract", "TrashContract"]
