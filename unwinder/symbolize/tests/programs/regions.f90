! Outlined functions. A line that holds `parent NAME` starts a directive in that procedure.
module work
  implicit none
  real(8), volatile :: sink = 0
contains
  subroutine simple(n)
    integer, intent(in) :: n
    integer :: i
    real(8) :: total
    total = 0
    !$omp parallel do reduction(+ : total) ! parent simple
    do i = 1, n
      total = total + i
    end do
    !$omp end parallel do
    sink = sink + total
  end subroutine simple

  subroutine tasks(n)
    integer, intent(in) :: n
    integer :: i
    !$omp parallel ! parent tasks
    !$omp single
    do i = 1, n
      !$omp task firstprivate(i) ! parent tasks
      sink = sink + i
      !$omp end task
    end do
    !$omp end single
    !$omp end parallel
  end subroutine tasks

  subroutine smooth(u, v, n)
    integer, intent(in) :: n
    real(8), intent(in) :: u(n)
    real(8), intent(out) :: v(n)
    integer :: i
    !$omp parallel do ! parent smooth
    do i = 2, n - 1
      v(i) = u(i - 1) + u(i + 1)
    end do
    !$omp end parallel do
  end subroutine smooth
end module work

subroutine alone(n)
  use work
  integer, intent(in) :: n
  !$omp parallel ! parent alone
  sink = sink + n
  !$omp end parallel
end subroutine alone

program regions
  use work
  implicit none
  real(8) :: u(9) = 1, v(9)
  call simple(10)
  call smooth(u, v, 9)
  sink = sink + v(2)
  call tasks(3)
  call alone(2)
  !$omp parallel ! parent main program
  sink = sink + 1
  !$omp end parallel
end program regions
