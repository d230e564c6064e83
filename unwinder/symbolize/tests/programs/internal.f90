! Procedures within others: of a module's procedure, of the main program, and of one outside. The last
! has constructs within constructs.
module host
contains
  subroutine outer(n)
    integer, intent(in) :: n
    call inner(n)
    call inner(n + 1)
  contains
    subroutine inner(k)
      integer, intent(in) :: k
      integer :: i
      !$omp parallel do
      do i = 1, k
        call use(i)
      end do
    end subroutine
  end subroutine
end module

subroutine alone(n)
  integer, intent(in) :: n
  call inner(n)
  call inner(n + 2)
contains
  subroutine inner(k)
    integer, intent(in) :: k
    integer :: i
    !$omp parallel do
    do i = 1, k
      call use(i)
    end do
  end subroutine
end subroutine

program p
  use host
  call outer(3)
  call work(4)
  call work(5)
contains
  subroutine work(n)
    integer, intent(in) :: n
    integer :: i
    !$omp parallel do
    do i = 1, n
      !$omp task
      !$omp parallel
      call use(i)
      !$omp end parallel
      !$omp end task
    end do
  end subroutine
end program
