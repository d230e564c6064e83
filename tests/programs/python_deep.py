# Calls a library with a parallel region below more frames of Python than a recording has.
import ctypes
import sys

sys.setrecursionlimit(5000)
library = ctypes.CDLL(sys.argv[1])
library.work.restype = ctypes.c_double
library.work.argtypes = [ctypes.c_long]


def inner(n):
    library.work(n)


def deep(n):
    if n:
        deep(n - 1)
    else:
        # C code that calls Python.
        list(map(inner, [3_000_000]))


for _ in range(10):
    deep(1000)
