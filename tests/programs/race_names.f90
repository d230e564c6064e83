! Races for variables of Fortran.
module shared
  integer :: total
  real(8) :: field(0:7, 3)
end module

subroutine work(x, n)
  integer :: n, i, last
  real(8) :: x(n)
  last = 0
!$omp parallel do num_threads(2)
  do i = 1, n
    x(1) = i
    last = last + 1
  end do
  print *, last
end subroutine

! No race: after the inner region, gfortran writes the reference `n` back.
subroutine nested(x, n)
  integer :: n, i, j
  real(8) :: x(n, n)
!$omp parallel num_threads(2)
!$omp do
  do i = 1, n
!$omp parallel shared(n, i) num_threads(2)
!$omp do
    do j = 1, n
      x(j, i) = n
    end do
!$omp end parallel
  end do
!$omp end parallel
end subroutine

program main
  use shared
  implicit none
  type point
    integer :: k
    real(8) :: w(3)
  end type
  integer :: common_count
  common /block/ common_count
  real(8), allocatable :: a(:)
  integer :: b(4, 5)
  type(point) :: p
  real(8) :: dummy(10), square(6, 6)
  allocate(a(100))
!$omp parallel num_threads(2)
  a(7) = 2
  b(4, 3) = 1
  p%w(2) = 1
  total = 1
  field(2, 2) = 5
  common_count = 1
!$omp end parallel
  call work(dummy, 10)
  call nested(square, 6)
  print *, a(7), b(4, 3), total, common_count, dummy(1), p%w(2), square(1, 1)
end program
