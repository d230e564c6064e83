! Directives whose clauses are computed. A line that holds `parent NAME` starts one there.
module above
  implicit none
contains
  ! Inlined into the regions below.
  subroutine twice(y)
    real(8), intent(inout) :: y
    y = y * 2
    if (y > 9) y = y - 9
  end subroutine twice
end module above

subroutine clauses(x, n)
  use above
  real(8), intent(inout) :: x(100)
  integer, intent(in) :: n
  integer :: i
  x = 0
  !$omp parallel num_threads(n) ! parent clauses
  x(3) = 2
  call twice(x(4))
  !$omp do
  do i = 1, 100
    x(i) = x(i) + i
    call twice(x(i))
  end do
  !$omp end do
  !$omp sections
  !$omp section
  x(1) = 2
  !$omp section
  x(2) = 2
  !$omp end sections
  !$omp end parallel
  x(7) = 1
  !$omp parallel if(n > 9) private(i) ! parent clauses
  call inner(x)
  !$omp barrier
  !$omp single
  x(1) = n
  !$omp end single
  !$omp task if(n > 3) ! parent clauses
  call twice(x(5))
  !$omp end task
  !$omp end parallel
end subroutine clauses
