! Planted races. Behind each of their lines is the name of the variable.
module planted
  implicit none
  integer :: calls = 0
  integer :: own = 0
  !$omp threadprivate(own)
contains
  subroutine passed(what)
    integer, intent(inout) :: what
    what = what + 1                         !=argument
  end subroutine

  recursive integer function fib(n) result(value)
    integer, intent(in) :: n
    integer :: first, second
    if (n < 2) then
      value = n
    else
      !$omp task shared(first)
      first = fib(n - 1)                    !=first
      !$omp end task
      !$omp task shared(second)
      second = fib(n - 2)                   !=second
      !$omp end task
      value = 0
      value = value + first                 !=first
      value = value + second                !=second
      !$omp taskwait
    end if
  end function
end module

subroutine explicit(m, n)
  implicit none
  integer, intent(in) :: n
  real(8), intent(inout) :: m(n, *)
  integer :: i
  !$omp parallel do
  do i = 2, n
    m(i, 2) = m(i - 1, 2) + 1               !=matrix
  end do
  !$omp end parallel do
end subroutine

program racy
  use omp_lib
  use planted
  implicit none
  type cell
    integer :: n
    real :: w(4)
  end type
  type grid
    type(cell), allocatable :: cells(:)
  end type
  type(grid) :: g
  integer :: i, total, last, taken, argument, step, seen, output(400)
  real(8) :: matrix(200, 3)
  real :: line(0:200)
  allocate(g%cells(0:50))
  do i = 0, 50
    g%cells(i)%n = 0
    g%cells(i)%w = 0
  end do
  total = 0
  last = 0
  taken = 0
  argument = 0
  step = 1
  seen = 0
  matrix = 0
  line = 0
  own = 3

  !$omp parallel do copyin(own) reduction(max:seen)
  do i = 1, 300
    total = total + i                       !=total
    g%cells(mod(i, 7))%w(2) = i             !=g
    seen = max(seen, own + i)
    own = own + 1
    call passed(argument)
  end do
  !$omp end parallel do

  !$omp parallel do
  do i = 1, 199
    line(i + 1) = line(i)                   !=line
  end do
  !$omp end parallel do

  !$omp parallel do
  do i = 1, 400
    output(i) = step                        !=step
    step = i                                !=step
  end do
  !$omp end parallel do

  !$omp parallel sections
  !$omp section
  last = 1                                  !=last
  !$omp section
  last = 2                                  !=last
  !$omp end parallel sections

  !$omp parallel do
  do i = 1, 200
    !$omp atomic
    calls = calls + 1                       !=calls
    if (calls > 300) print *, 'many'        !=calls
  end do
  !$omp end parallel do

  !$omp parallel
  !$omp single
  !$omp task shared(taken)
  taken = 1                                 !=taken
  !$omp end task
  print *, taken                            !=taken
  taken = fib(7)
  !$omp end single
  !$omp end parallel

  call explicit(matrix, 200)
  print *, total, last, taken, argument, seen, output(5), matrix(7, 2), line(9), g%cells(1)%w(2)
end program
