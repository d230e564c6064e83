# Calls a library with a parallel region from two lines of a method. Prints how long each took, in seconds.
import ctypes
import sys
import time

library = ctypes.CDLL(sys.argv[1])
library.work.restype = ctypes.c_double
library.work.argtypes = [ctypes.c_long]
seconds = [0.0, 0.0]


class Solver:
    def run(self, n):
        begin = time.perf_counter()
        library.work(n)  # the short call
        middle = time.perf_counter()
        library.work(4 * n)  # the long call
        seconds[0] += middle - begin
        seconds[1] += time.perf_counter() - middle


def λ(solver):
    solver.run(2_000_000)


def main():
    for _ in range(10):
        λ(Solver())  # the call


main()
print(*seconds)
