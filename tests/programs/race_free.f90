! Correct programs that look like racy ones.
module correct
  implicit none
  type pair
    integer :: n = 0
    real(8) :: s = 0
  end type
  integer :: own = 0
  integer, allocatable :: work(:)
  !$omp threadprivate(own, work)
contains
  recursive integer function fib(n) result(value)
    integer, intent(in) :: n
    integer :: first, second
    if (n < 2) then
      value = n
    else
      !$omp task shared(first)
      first = fib(n - 1)
      !$omp end task
      !$omp task shared(second) final(n < 4)
      second = fib(n - 2)
      !$omp end task
      !$omp taskwait
      value = first + second
    end if
  end function
end module

subroutine more()
  implicit none
  integer :: a, b
  common /block/ a, b
  !$omp threadprivate(/block/)
  b = b + 1
end subroutine

program race_free
  use omp_lib
  use correct
  implicit none
  integer :: a, b
  common /block/ a, b
  !$omp threadprivate(/block/)
  integer :: i, j, largest, count, value, histogram(8)
  integer, allocatable :: bins(:)
  real(8) :: sum, error, field(30, 30), old(30, 30)
  character(len=12) :: names(50), text
  allocate(bins(8))
  histogram = 0
  bins = 0
  largest = 0
  sum = 0
  count = 0
  field = 1
  own = 5
  a = 1
  b = 2

  ! Reductions: of a scalar, of arrays, of a part of the region alone.
  !$omp parallel do reduction(+:sum, histogram, bins) reduction(max:largest)
  do i = 1, 320
    sum = sum + i
    histogram(1 + mod(i, 8)) = histogram(1 + mod(i, 8)) + 1
    bins(1 + mod(i, 8)) = bins(1 + mod(i, 8)) + 1
    largest = max(largest, i)
  end do
  !$omp end parallel do
  do j = 1, 3
    error = 0
    !$omp parallel private(i)
    !$omp do
    do i = 1, 30
      old(:, i) = field(:, i)
    end do
    !$omp end do
    !$omp do reduction(+:error)
    do i = 2, 29
      field(2:29, i) = (old(1:28, i) + old(3:30, i) + old(2:29, i - 1) + old(2:29, i + 1)) / 4
      error = error + abs(field(5, i) - old(5, i))
    end do
    !$omp end do nowait
    !$omp end parallel
  end do

  ! Each thread's copies begin with the first one's values.
  !$omp parallel copyin(own, /block/) reduction(+:count)
  allocate(work(10))
  work = 0
  !$omp do
  do i = 1, 100
    own = own + 1
    a = a + i
    call more()
    work(1 + mod(i, 10)) = i
  end do
  !$omp end do
  count = count + own + a + b + work(1)
  deallocate(work)
  !$omp end parallel

  !$omp parallel private(value) reduction(+:count)
  !$omp single
  value = 3
  !$omp end single copyprivate(value)
  count = count + value
  !$omp end parallel

  !$omp parallel do private(text) reduction(+:count) schedule(dynamic, 3)
  do i = 1, 50
    write(text, '(a,i0)') 'n', i
    names(i) = trim(text) // '_x'
    count = count + len_trim(names(i))
  end do
  !$omp end parallel do

  !$omp parallel
  !$omp single
  !$omp task depend(out: value)
  value = fib(7)
  !$omp end task
  !$omp task depend(in: value)
  count = count + value
  !$omp end task
  !$omp end single
  !$omp end parallel

  print *, sum, error, largest, count, histogram(1), bins(2), names(7)
end program
