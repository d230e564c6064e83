! Threadprivate module data, workshare, array reductions, allocatables by thread, tasks and critical.
module store
  implicit none
  integer, save :: calls = 0
  real, allocatable, save :: work(:)
  !$omp threadprivate(calls, work)
contains
  subroutine fill(n)
    integer, intent(in) :: n
    integer :: k
    if (.not. allocated(work)) allocate(work(n))
    do k = 1, n
      work(k) = real(k)
    end do
    calls = calls + 1
  end subroutine
  recursive integer function fib(n) result(r)
    integer, intent(in) :: n
    integer :: x, y
    if (n < 2) then
      r = n
      return
    end if
    !$omp task shared(x)
    x = fib(n - 1)
    !$omp end task
    !$omp task shared(y)
    y = fib(n - 2)
    !$omp end task
    !$omp taskwait
    r = x + y
  end function
end module
program main
  use omp_lib
  use store
  implicit none
  real :: a(100), b(100), total
  integer :: hist(5), i, f, order(20), used
  total = 0
  hist = 0
  used = 0
  !$omp parallel num_threads(3) reduction(+: total)
  call fill(10)
  total = total + sum(work)
  deallocate(work)
  !$omp end parallel
  !$omp parallel num_threads(3)
  !$omp workshare
  a = 1.0
  b = 2.0 * a
  !$omp end workshare
  !$omp do reduction(+: hist)
  do i = 1, 100
    hist(mod(i, 5) + 1) = hist(mod(i, 5) + 1) + 1
  end do
  !$omp end do
  !$omp do ordered schedule(dynamic)
  do i = 1, 20
    b(i) = a(i) + i
    !$omp ordered
    used = used + 1
    order(used) = i
    !$omp end ordered
  end do
  !$omp end do
  !$omp single
  f = fib(9)
  !$omp end single
  !$omp critical (sums)
  total = total + b(omp_get_thread_num() + 1)
  !$omp end critical (sums)
  !$omp end parallel
  print *, total, sum(hist), f, order(20)
end program
