! Reads of memory that nothing has written: each line with a name in a comment holds one.
module data
  implicit none
  real(8) :: field(64)
  integer :: steps
  integer, save :: seed
  !$omp threadprivate(seed)
contains
  subroutine all_but(a, n, left)
    integer, intent(in) :: n, left
    real(8), intent(inout) :: a(n)
    integer :: i
    do i = 1, n
      if (i /= left) a(i) = i
    end do
  end subroutine
  subroutine use(x)
    real(8), intent(in) :: x
    if (x > 1d300) print *, x
  end subroutine
  subroutine work(n)
    integer, intent(in) :: n
    real(8) :: automatic(n)
    call all_but(automatic, n, 5)
    call use(automatic(5) + 1) ! automatic array
  end subroutine
end module

program uninit
  use data, only: field, steps, seed, all_but, work, use
  implicit none
  real(8), allocatable :: a(:), m(:, :)
  integer :: i
  real(8) :: total
  allocate (a(100), m(8, 8))
  call all_but(a, 100, 40)
  total = 0
  !$omp parallel do reduction(+:total)
  do i = 1, 100
    total = total + a(i) ! allocatable
  end do
  m(:, 1:7) = 2
  !$omp parallel do
  do i = 1, 8
    call use(m(i, 8) + 1) ! column
  end do
  !$omp parallel
  call work(50)
  !$omp end parallel
  !$omp parallel do
  do i = 1, 64
    call use(field(i) + 1) ! module array: initial value
  end do
  call all_but(field, 64, 0)
  seed = 12
  !$omp parallel
  call use(real(seed, 8)) ! no copyin: initial value
  !$omp end parallel
  print *, total > 0, steps
end program
