"""What runs in a transaction: ``Tx`` for one function, on one of the connections that read or on the one that writes."""

from syncd.store.transactions.readers import Readers, reading
from syncd.store.transactions.tx import StaleDecision, Tx, existing
from syncd.store.transactions.writer import Writer
