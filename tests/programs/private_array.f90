! A private array, never set in the region.
program p
  implicit none
  real :: w(8), s(40)
  integer :: i
  w = 1
  !$omp parallel do private(w)
  do i = 1, 40
    w(mod(i, 8) + 1) = w(mod(i, 8) + 1) + i ! w
    s(i) = w(mod(i, 8) + 1)
  end do
  print *, s(3) > 0
end program
