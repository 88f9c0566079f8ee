"""LETOR and SVMlight text: ``label qid:query id:value … # comment``, in and out."""

from directrank.data.letor.reader import read_letor
from directrank.data.letor.writer import write_letor

__all__ = ["read_letor", "write_letor"]
