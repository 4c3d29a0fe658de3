"""The contracts of logs and stores as suites that any store can run.

Under pytest, subclass them and override the methods that create an empty store and a log::

    from branchline.stores.conformance import LogContract, StoreContract


    class TestMyStore(StoreContract):
        def make_store(self):
            return MyStore()


    class TestMyLog(LogContract):
        def make_log(self, data, **options):
            store = MyStore(**options)
            store.load("log", [data])
            return store.open("log")

For a store with drafts, a trash, or bulk loading, subclass :class:`DraftContract`, :class:`TrashContract` or
:class:`LoadContract`, or several. Run both kinds: a store can pass its own contract and still join a torn
line to the next record. Every test takes a new store and uses plain assertions, so the methods also run
without pytest.
"""

from branchline.stores.conformance.log import LogContract
from branchline.stores.conformance.store import DraftContract, LoadContract, StoreContract, TrashContract

__all__ = ["DraftContract", "LoadContract", "LogContract", "StoreContract", "TrashContract"]
